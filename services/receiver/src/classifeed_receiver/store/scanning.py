"""Full reads of the registry: documents in the order of their keys, and their digests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from classifeed_common.db import Tx, fetch_as, load_queries
from classifeed_domain.document_shards import hashes_of
from classifeed_receiver.domain.positions import RegistryPosition
from classifeed_receiver.store.kept_documents import KeptDocument

_SQL: Final = load_queries(__package__, "scanning.sql")


class ScannedRow(NamedTuple):
    """The stored row of a live document, with its position."""

    position: RegistryPosition
    document: KeptDocument


class ListedDocument(NamedTuple):
    """Key and freshness of a document, live or removed."""

    pk: str
    epoch: int
    version: int
    modify_timestamp: datetime
    is_removed: bool


@dataclass(frozen=True, slots=True)
class DocumentSums:
    """Count and digests of the live documents of a shard."""

    documents: int = 0
    sum_a: int = 0
    sum_b: int = 0


async def freeze(tx: Tx) -> None:
    """Let all reads of a transaction see one snapshot; call it before the first of them."""
    await tx.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")


async def scan_documents(
    tx: Tx, client: str, shard: int, epoch: int, after: RegistryPosition, *, limit: int, size_bytes: int
) -> list[ScannedRow]:
    """Return the next live documents of a shard: at most `limit`, and `size_bytes` plus one document as stored."""
    parameters = {
        "client": client,
        "epoch": epoch,
        "after_hash": after.pk_hash,
        "after_pk": after.pk,
        "last_hash": hashes_of(shard)[1],
        "limit": limit,
        "size_bytes": size_bytes,
    }
    cursor = await tx.execute(_SQL["scan_documents"], parameters)
    return [ScannedRow(RegistryPosition(*row[:2]), KeptDocument(*row[2:])) for row in await cursor.fetchall()]


async def list_documents(tx: Tx, client: str, after: RegistryPosition, limit: int) -> list[ListedDocument]:
    """Return a client's next documents after a position, tombstones included, up to `limit`."""
    parameters = {"client": client, "after_hash": after.pk_hash, "after_pk": after.pk, "limit": limit}
    return await fetch_as(tx, ListedDocument, _SQL["list_documents"], parameters)


async def sum_digests(tx: Tx, client: str, epoch: int, shards: Sequence[int]) -> dict[int, DocumentSums]:
    """Return the sums of some shards by shard; it reads all their rows, about 5 µs for each."""
    ranges = [hashes_of(shard) for shard in shards]
    parameters = {
        "client": client,
        "epoch": epoch,
        "shards": list(shards),
        "first_hashes": [first for first, _ in ranges],
        "last_hashes": [last for _, last in ranges],
    }
    rows = await (await tx.execute(_SQL["sum_digests"], parameters)).fetchall()
    return {shard: DocumentSums(*sums) for shard, *sums in rows}


async def list_failed(tx: Tx, client: str, epoch: int, shards: Sequence[int]) -> dict[int, list[tuple[str, int]]]:
    """Return key and version of live documents that could not be converted, by shard."""
    cursor = await tx.execute(_SQL["list_failed"], {"client": client, "epoch": epoch, "shards": list(shards)})
    failed: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for shard, pk, version in await cursor.fetchall():
        failed[shard].append((pk, version))
    return failed
