"""Read elements of a client's queues with their documents; wait for new elements if there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, RawDocument
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_receiver.app.reading.append_failed import append_failed
from classifeed_receiver.domain.cursors import ShardEnds, ShardKey, check_cursor, list_due
from classifeed_receiver.domain.documents import Status
from classifeed_receiver.store import queues
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.compression import CorruptContent
from classifeed_receiver.store.kept_documents import KeptDocument, mark_damaged, read_content
from classifeed_receiver.store.queues import Element, Failure

_log = structlog.get_logger(__name__)

# Keeps a response below 4 MiB, the default limit of gRPC clients.
_RESPONSE_BYTES: Final = 3_500_000
_ELEMENT_OVERHEAD_BYTES: Final = 32
_LOGGED_KEYS: Final = 20
_POLL_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class ReadElement:
    """An element with its document, which is the stored version, and the trace context of its push; empty: none."""

    key: ShardKey
    idx: int
    document: RawDocument
    traceparent: str = ""


@dataclass(slots=True)
class ReadResult:
    """Elements that were read, by shard and in the order of idx, and the new cursor of each shard that moved."""

    elements: list[ReadElement] = field(default_factory=list)
    next: dict[ShardKey, int] = field(default_factory=dict)


class ReadElements:
    """Reads the queues for any number of readers; each call passes the reader's cursors."""

    def __init__(self, database: Database, signal: CommitSignal, clock: Clock, *, poll_s: float = _POLL_S) -> None:
        self._database = database
        self._signal = signal
        self._clock = clock
        self._poll_s = poll_s

    async def __call__(self, client: str, cursors: Mapping[ShardKey, int], *, limit: int, wait_s: float) -> ReadResult:
        """Return the elements after the cursors; wait up to `wait_s` seconds if there are none.

        An element whose document has changed since is skipped: a later element represents the document. Commits of this
        process end the wait at once, commits of other replicas within `poll_s` (ADR 0010: why there is no NOTIFY).

        Raises:
            FailedPrecondition: a cursor is in the trimmed part of its queue (CURSOR_TRIMMED), or is none of its
                elements because the table was restored from an older backup (CURSOR_UNKNOWN).
        """
        ends_at_s = self._clock.monotonic_s() + wait_s
        while True:
            seen = self._signal.count(client)
            result = await self._read_once(client, cursors, limit)
            left_s = ends_at_s - self._clock.monotonic_s()
            if result.next or left_s <= 0:
                return result
            await self._signal.wait(client, seen, min(left_s, self._poll_s))

    async def _read_once(self, client: str, cursors: Mapping[ShardKey, int], limit: int) -> ReadResult:
        async with self._database.connection() as connection:
            ends = await queues.list_shards(connection, client)
            due = list_due(client, cursors, ends)
            if not due:
                return ReadResult()
            elements = await queues.list_elements(connection, client, due, limit=limit, size_bytes=_RESPONSE_BYTES)
        _check_snapshot(client, due, ends, elements)
        result, damaged = _take(client, elements)
        if damaged:
            failures = [Failure(element.key, element.idx, element.pk, why) for element, why in damaged]
            await append_failed(self._database, client, failures)
            rows = [(element.pk, element.document) for element, _ in damaged if element.document is not None]
            async with self._database.connection() as connection:
                await mark_damaged(connection, client, rows)
        return result


def _check_snapshot(
    client: str,
    cursors: Mapping[ShardKey, int],
    ends: Mapping[ShardKey, ShardEnds],
    elements: Sequence[Element],
) -> None:
    """Check the cursors again: the queues may have been trimmed after their ends were read."""
    checked: set[ShardKey] = set()
    for element in elements:
        if element.key not in checked:
            checked.add(element.key)
            end = ends[element.key]._replace(trimmed_idx=element.trimmed_idx)
            check_cursor(client, element.key, cursors[element.key], end, is_known=element.is_known)


def _take(client: str, elements: Sequence[Element]) -> tuple[ReadResult, list[tuple[Element, str]]]:
    """Decode elements up to the size limit of a response; also return the damaged ones, each with its reason.

    Elements are ordered in rounds over the shards, so each shard gets its share. Rows marked as damaged are skipped.
    """
    result = ReadResult()
    damaged: list[tuple[Element, str]] = []
    skipped: list[str] = []
    size_bytes = 0
    for element in elements:
        if element.document is None or element.document.status == Status.DAMAGED:
            skipped.append(f"{element.pk}@{element.version}")
        else:
            try:
                document = restore_document(element.pk, element.document)
            except CorruptContent as error:
                _log.error("receiver.document.unreadable", client=client, pk=element.pk, error=str(error))
                damaged.append((element, f"the stored document is corrupt: {error}"))
            else:
                size_bytes += document.ByteSize() + _ELEMENT_OVERHEAD_BYTES
                if result.next and size_bytes > _RESPONSE_BYTES:
                    break
                result.elements.append(ReadElement(element.key, element.idx, document, element.traceparent or ""))
        result.next[element.key] = element.idx
    result.elements.sort(key=lambda element: (element.key, element.idx))
    if skipped:
        shown = skipped[:_LOGGED_KEYS]
        _log.info("receiver.elements.skipped", client=client, count=len(skipped), documents=shown)
    return result, damaged


def restore_document(pk: str, kept: KeptDocument) -> RawDocument:
    """Return the document of a row; a tombstone is built from the columns, because it needs no content.

    Raises:
        CorruptContent: the row is damaged.
    """
    if kept.status == Status.TOMBSTONE:
        removed = RawDocument(pk=pk, version=kept.version, action=DOCUMENT_ACTION_DELETE, epoch=kept.epoch)
        removed.timestamp.FromDatetime(kept.modify_timestamp)
        return removed
    return RawDocument.FromString(read_content(pk, kept))
