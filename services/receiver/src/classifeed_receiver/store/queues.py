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

SQL: Final = load_queries(__package__, "queues.sql")


@dataclass(frozen=True, slots=True)
class Element:
    """An element; without a document when another version is stored now, or none.

    `trimmed_idx` and `is_known` are about the cursor that it was read with: up to where its queue was trimmed, and
    whether the cursor was an element or trimmed last, both in the snapshot that the element comes from.
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
    """A cursor that belongs to no element of its queue, and where the queue ends."""

    key: ShardKey
    idx: int
    ends: ShardEnds


@dataclass(frozen=True, slots=True)
class Failure:
    """An element that its reader could not use, and why."""

    key: ShardKey
    idx: int
    pk: str
    reason: str


@dataclass(frozen=True, slots=True)
class RefillStep:
    """What a step of a refill appended: up to which document, how many elements, and the index of the last."""

    next: RegistryPosition
    elements: int
    last_idx: int


@dataclass(frozen=True, slots=True)
class Trim:
    """A shard's queue whose elements below `below` every living group has passed."""

    client: str
    key: ShardKey
    below: int


async def select_shards(tx: Tx, client: str) -> dict[ShardKey, ShardEnds]:
    """Return where the queues of a client end; a shard that never had an element is left out."""
    cursor = await tx.execute(SQL["select_shards"], {"client": client})
    return {ShardKey(queue, shard): ShardEnds(last, trimmed) for queue, shard, last, trimmed in await cursor.fetchall()}


async def select_ends(tx: Tx, client: str, group: str) -> dict[ShardKey, tuple[ShardEnds, int]]:
    """Return where the queues of a client end, and up to where a group has reported delivery.

    Args:
        client: whose queues; a shard that never had an element is left out.
        group: which; empty: of each shard the group that is furthest.
    """
    cursor = await tx.execute(SQL["select_ends"], {"client": client, "group": group})
    return {
        ShardKey(queue, shard): (ShardEnds(last_idx, trimmed_idx), delivered_idx)
        for queue, shard, last_idx, trimmed_idx, delivered_idx in await cursor.fetchall()
    }


async def select_elements(
    tx: Tx, client: str, cursors: Mapping[ShardKey, int], *, limit: int, size_bytes: int
) -> list[Element]:
    """Return the elements after the cursors with their documents, of one snapshot, in rounds of one of each shard.

    Args:
        client: whose queues.
        cursors: index of the last element read, by shard.
        limit: elements of each shard, at most.
        size_bytes: how many bytes of documents to return, exceeded by one document at most.
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
        for row in await fetch_named(tx, SQL["select_elements"], parameters)
    ]


def _document_of(row: Any) -> KeptDocument | None:
    if row.epoch is None:
        return None
    return KeptDocument(
        row.epoch, row.version, row.modify_timestamp, row.status, row.compression, row.checksum, row.document
    )


async def select_unknown_cursors(tx: Tx, client: str, cursors: Collection[tuple[ShardKey, int]]) -> list[UnknownCursor]:
    """Return the cursors that belong to no element of their queues; trimmed ones pass, as they cannot be recognised."""
    cursor = await tx.execute(
        SQL["select_unknown_cursors"],
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
    """Put elements into the queue `failed`, each once however often it is reported; return how many are new.

    Needs a transaction.
    """
    cursor = await tx.execute(
        SQL["note_failures"],
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
        await tx.execute(SQL["append_failed"], parameters)
    return len(noted)


async def refill(tx: Tx, client: str, shard: int, after: RegistryPosition, limit: int) -> RefillStep | None:
    """Append up to `limit` documents of a shard that come after a position to the queue `emergency`.

    One statement; returns None when no document is left.
    """
    cursor = await tx.execute(
        SQL["refill"],
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
    """Note how far a group has come; a cursor that lies behind the one noted changes nothing."""
    await tx.execute(
        SQL["report_progress"],
        {
            "client": client,
            "group": group,
            "queues": [key.queue for key in cursors],
            "shards": [key.shard for key in cursors],
            "idxs": list(cursors.values()),
        },
    )


async def select_trimmable(tx: Tx, *, group_lifetime_s: float) -> list[Trim]:
    """Return the queues with elements that every living group has passed.

    Args:
        group_lifetime_s: a group that was silent for longer counts no more.
    """
    cursor = await tx.execute(SQL["select_trimmable"], {"group_lifetime_s": group_lifetime_s})
    return [Trim(client, ShardKey(queue, shard), below) for client, queue, shard, below in await cursor.fetchall()]


async def forget_failed(tx: Tx, *, age_s: float, limit: int) -> int:
    """Remove elements of the queue `failed` older than `age_s`, at most `limit`; return how many.

    One that stands for the stored version of its document stays.
    """
    return (await tx.execute(SQL["forget_failed"], {"age_s": age_s, "limit": limit})).rowcount


async def trim_shard(tx: Tx, trim: Trim, *, limit: int) -> None:
    """Remove the first `limit` elements of a shard that lie below `trim.below`.

    One statement; may run twice, and at a time in two places.
    """
    await tx.execute(
        SQL["trim_shard"],
        {
            "client": trim.client,
            "queue": trim.key.queue,
            "shard": trim.key.shard,
            "below": trim.below,
            "limit": limit,
        },
    )
