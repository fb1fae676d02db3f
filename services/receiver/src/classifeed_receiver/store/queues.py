"""Reads and writes of the queues between registry and index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_domain.document_shards import hashes_of
from classifeed_receiver.domain.cursors import ShardEnds, ShardKey
from classifeed_receiver.domain.positions import RegistryPosition
from classifeed_receiver.store.arrays import array_of
from classifeed_receiver.store.kept_documents import KeptDocument

_SQL: Final = load_queries(__package__, "queues.sql")


@dataclass(frozen=True, slots=True)
class Element:
    """An element; it has no document if the registry now has another version, or none.

    `trimmed_idx` and `is_known` describe its queue and cursor in the same snapshot: the last trimmed index, and whether
    the cursor was an element or trimmed last.
    """

    key: ShardKey
    idx: int
    pk: str
    version: int
    traceparent: str | None
    trimmed_idx: int
    is_known: bool
    document: KeptDocument | None


@dataclass(frozen=True, slots=True)
class UnknownCursor:
    """A cursor that is no element of its queue, with the ends of the queue."""

    key: ShardKey
    idx: int
    ends: ShardEnds


@dataclass(frozen=True, slots=True)
class Failure:
    """An element that its reader could not use, with the reason."""

    key: ShardKey
    idx: int
    pk: str
    reason: str


@dataclass(frozen=True, slots=True)
class RefillStep:
    """Result of a refill's step: position of the last document, number of elements, index of the last element."""

    next: RegistryPosition
    elements: int
    last_idx: int


@dataclass(frozen=True, slots=True)
class Trim:
    """A shard's queue whose elements below index `below` every active group has delivered."""

    client: str
    key: ShardKey
    below: int


async def list_shards(tx: Tx, client: str) -> dict[ShardKey, ShardEnds]:
    """Return the ends of a client's queues; a shard that never had an element is left out."""
    cursor = await tx.execute(_SQL["list_shards"], {"client": client})
    return {ShardKey(queue, shard): ShardEnds(last, trimmed) for queue, shard, last, trimmed in await cursor.fetchall()}


async def list_ends(tx: Tx, client: str, group: str) -> dict[ShardKey, tuple[ShardEnds, int]]:
    """Return the ends of a client's queues, and the offset that a group has reported for each.

    Args:
        client: client of the queues; a shard that never had an element is left out.
        group: name of the group; empty: the highest offset of all groups.
    """
    cursor = await tx.execute(_SQL["list_ends"], {"client": client, "group": group})
    return {
        ShardKey(queue, shard): (ShardEnds(last_idx, trimmed_idx), delivered_idx)
        for queue, shard, last_idx, trimmed_idx, delivered_idx in await cursor.fetchall()
    }


async def list_elements(
    tx: Tx, client: str, cursors: Mapping[ShardKey, int], *, limit: int, size_bytes: int
) -> list[Element]:
    """Return the elements after the cursors with their documents, from one snapshot, in rounds over the shards.

    Args:
        client: client of the queues.
        cursors: index of the last element read, by shard.
        limit: maximum number of elements of each shard.
        size_bytes: maximum size of the documents, in bytes; one document may exceed it.
    """
    keys = list(cursors)
    parameters = {
        "client": client,
        "queues": [key.queue for key in keys],
        "shards": [key.shard for key in keys],
        "idxs": [cursors[key] for key in keys],
        "limit": limit,
        "size_bytes": size_bytes,
    }
    return [
        Element(
            ShardKey(row.queue, row.shard),
            row.idx,
            row.pk,
            row.element_version,
            row.traceparent,
            row.trimmed_idx,
            row.is_known,
            _document_of(row),
        )
        for row in await fetch_named(tx, _SQL["list_elements"], parameters)
    ]


def _document_of(row: Any) -> KeptDocument | None:
    if row.epoch is None:
        return None
    return KeptDocument(
        row.epoch, row.version, row.modify_timestamp, row.status, row.compression, row.checksum, row.document
    )


async def list_unknown_cursors(tx: Tx, client: str, cursors: Collection[tuple[ShardKey, int]]) -> list[UnknownCursor]:
    """Return the cursors that are no elements of their queues; trimmed ones cannot be recognised and are left out."""
    cursor = await tx.execute(
        _SQL["list_unknown_cursors"],
        {
            "client": client,
            "queues": array_of(key.queue for key, _ in cursors),
            "shards": array_of(key.shard for key, _ in cursors),
            "idxs": array_of(idx for _, idx in cursors),
        },
    )
    return [
        UnknownCursor(ShardKey(queue, shard), idx, ShardEnds(last_idx, trimmed_idx))
        for queue, shard, idx, last_idx, trimmed_idx in await cursor.fetchall()
    ]


async def append_failed(tx: Tx, client: str, failures: Sequence[Failure]) -> int:
    """Append elements to the queue `failed`, each once even if it is reported again; return the number of new ones.

    Needs a transaction.
    """
    cursor = await tx.execute(
        _SQL["note_failures"],
        {
            "client": client,
            "queues": [failure.key.queue for failure in failures],
            "shards": [failure.key.shard for failure in failures],
            "idxs": [failure.idx for failure in failures],
            "pks": [failure.pk for failure in failures],
            "reasons": [failure.reason for failure in failures],
        },
    )
    noted = await cursor.fetchall()
    if noted:
        queues, shards, idxs = (list(column) for column in zip(*noted, strict=True))
        parameters = {"client": client, "queues": queues, "shards": shards, "idxs": idxs, "count": len(noted)}
        await tx.execute(_SQL["append_failed"], parameters)
    return len(noted)


async def refill(tx: Tx, client: str, shard: int, after: RegistryPosition, limit: int) -> RefillStep | None:
    """Append up to `limit` documents of a shard, after a position, to the queue `emergency`.

    It is one statement. Returns None when no document is left.
    """
    cursor = await tx.execute(
        _SQL["refill"],
        {
            "client": client,
            "shard": shard,
            "after_hash": after.pk_hash,
            "after_pk": after.pk,
            "last_hash": hashes_of(shard)[1],
            "limit": limit,
        },
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    pk_hash, pk, elements, last_idx = row
    return RefillStep(RegistryPosition(pk_hash, pk), elements, last_idx)


async def report_progress(tx: Tx, group: str, client: str, cursors: Mapping[ShardKey, int]) -> None:
    """Store the progress of a group; a cursor lower than the stored one changes nothing."""
    await tx.execute(
        _SQL["report_progress"],
        {
            "client": client,
            "group": group,
            "queues": [key.queue for key in cursors],
            "shards": [key.shard for key in cursors],
            "idxs": list(cursors.values()),
        },
    )


async def list_trimmable(tx: Tx, *, group_lifetime_s: float) -> list[Trim]:
    """Return the queues with elements that every active group has delivered.

    Args:
        group_lifetime_s: seconds after its last report when a group stops to be active.
    """
    cursor = await tx.execute(_SQL["list_trimmable"], {"group_lifetime_s": group_lifetime_s})
    return [Trim(client, ShardKey(queue, shard), below) for client, queue, shard, below in await cursor.fetchall()]


async def forget_failed(tx: Tx, *, age_s: float, limit: int) -> int:
    """Remove up to `limit` elements of the queue `failed` that are older than `age_s` seconds; return their number.

    The newest element of a document stays while it is the stored version.
    """
    return (await tx.execute(_SQL["forget_failed"], {"age_s": age_s, "limit": limit})).rowcount


async def trim_shard(tx: Tx, trim: Trim, *, limit: int) -> None:
    """Remove the first `limit` elements of a shard that are below `trim.below`.

    It is one idempotent statement; two processes may run it concurrently.
    """
    await tx.execute(
        _SQL["trim_shard"],
        {
            "client": trim.client,
            "queue": trim.key.queue,
            "shard": trim.key.shard,
            "below": trim.below,
            "limit": limit,
        },
    )
