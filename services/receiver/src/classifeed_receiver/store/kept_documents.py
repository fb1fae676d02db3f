"""Stored rows of the registry: their checksums, and the marking of damaged rows (ADR 0092)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog
from google.protobuf.message import DecodeError

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_common.db import Tx, load_queries
from classifeed_domain.document_shards import hash_of
from classifeed_receiver.domain.documents import Freshness, Status
from classifeed_receiver.store.compression import CorruptContent, decompress

_log = structlog.get_logger(__name__)

_SQL: Final = load_queries(__package__, "kept_documents.sql")

_TRIPLE: Final = struct.Struct("<qqq")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """The stored row of a document; it has no checksum if an earlier release wrote it."""

    epoch: int
    version: int
    modify_timestamp: datetime
    status: int
    compression: int
    checksum: int | None
    kept: bytes

    @property
    def freshness(self) -> Freshness:
        """Epoch, version and timestamp of the row."""
        return Freshness(self.epoch, self.version, self.modify_timestamp)


def is_live(document: KeptDocument) -> bool:
    """Return whether the row is a live document."""
    return document.status == Status.LIVE


def checksum_of(pk: str, freshness: Freshness, compression: int, kept: bytes) -> int:
    """Return the checksum of a row, 63 bits.

    The lower half is the CRC-32 of compression and stored bytes. The upper half is a hash of key and freshness: an
    earlier release may overwrite the row but not the checksum, which then has another freshness than the row.
    """
    return _owner_of(pk, freshness) << 32 | zlib.crc32(kept, zlib.crc32(bytes((compression,))))


def read_content(pk: str, document: KeptDocument) -> bytes:
    """Return the content of a row, a serialized RawDocument.

    If a row has no checksum, or one of another version, its content is parsed, and key, epoch and version are compared.

    Raises:
        CorruptContent: the row is damaged.
    """
    checksum = document.checksum
    has_own = checksum is not None and checksum >> 32 == _owner_of(pk, document.freshness)
    if has_own and checksum != checksum_of(pk, document.freshness, document.compression, document.kept):
        raise CorruptContent("its checksum differs from its content")
    content = decompress(document.compression, document.kept)
    if not has_own:
        _check_parsed(pk, document, content)
    return content


async def mark_damaged(tx: Tx, client: str, damaged: Iterable[tuple[str, KeptDocument]]) -> None:
    """Give damaged live rows the status DAMAGED, unless they have changed since they were read.

    Each row is a separate statement, so that two processes cannot deadlock.
    """
    for pk, document in damaged:
        cursor = await tx.execute(
            _SQL["mark_damaged"],
            {
                "client": client,
                "hash": hash_of(pk),
                "pk": pk,
                "epoch": document.epoch,
                "version": document.version,
                "modify_timestamp": document.modify_timestamp,
                "compression": document.compression,
                "checksum": document.checksum,
                "document": document.kept,
            },
        )
        if cursor.rowcount:
            _log.error("receiver.document.damaged", client=client, pk=pk, version=document.version)


def _owner_of(pk: str, freshness: Freshness) -> int:
    moment = (freshness.modify_timestamp - _EPOCH) // _MICROSECOND
    return zlib.crc32(_TRIPLE.pack(freshness.epoch, freshness.version, moment), zlib.crc32(pk.encode())) & 0x7FFFFFFF


def _check_parsed(pk: str, document: KeptDocument, content: bytes) -> None:
    try:
        parsed = RawDocument.FromString(content)
    except DecodeError as error:
        raise CorruptContent(f"its content is no document: {error}") from error
    if (parsed.pk, parsed.epoch, parsed.version) != (pk, document.epoch, document.version):
        found = f"{parsed.pk!r}, epoch {parsed.epoch}, version {parsed.version}"
        raise CorruptContent(f"its content is another document: {found}")
