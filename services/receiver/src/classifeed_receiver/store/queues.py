"""Reads and writes of the queues between registry and index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from classifeed_common.db import Tx, load_queries

SQL: Final = load_queries(__package__, "queues.sql")


class ShardKey(NamedTuple):
    """One shard of one queue; the numbers of the queues are those of the proto's IndexQueue."""

    queue: int
    shard: int


@dataclass(frozen=True, slots=True)
class ShardEnds:
    """Where a shard's queue ends, and up to where it is trimmed. Between the two there are no gaps."""

    last_idx: int
    trimmed_idx: int


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A document as its row has it."""

    epoch: int
    version: int
    modify_timestamp: datetime
    status: int
    compression: int
    kept: bytes


@dataclass(frozen=True, slots=True)
class Element:
    """An element; without a document when another version is stored by now, or none."""

    key: ShardKey
    idx: int
    pk: str
    version: int
    document: KeptDocument | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An element that its reader could not use, and why."""

    key: ShardKey
    idx: int
    pk: str
    reason: str


@dataclass(frozen=True, slots=True)
class Trim:
    """A shard's queue that may be trimmed up to `upto`."""

    client: str
    key: ShardKey
    upto: int


async def select_shards(tx: Tx, client: str) -> dict[ShardKey, ShardEnds]:
    """Returns where the queues of a client end; a shard that never had an element is left out."""
    cursor = await tx.execute(SQL["select_shards"], {"client": client})
    return {ShardKey(queue, shard): ShardEnds(last, trimmed) for queue, shard, last, trimmed in await cursor.fetchall()}


async def select_elements(
    tx: Tx, client: str, cursors: Mapping[ShardKey, int], *, limit: int, size_bytes: int
) -> list[Element]:
    """Returns the elements after the cursors with their documents, of one snapshot, in rounds of one of each shard.

    Args:
        client: whose queues.
        cursors: index of the last element read, by shard.
        limit: elements of each shard, at most.
        size_bytes: how many bytes of documents to return, exceeded by one document at most.
    """
    keys = list(cursors)
    cursor = await tx.execute(
        SQL["select_elements"],
        {
            "client": client,
            "queues": [key.queue for key in keys],
            "shards": [key.shard for key in keys],
            "idxs": [cursors[key] for key in keys],
            "limit": limit,
            "size_bytes": size_bytes,
        },
    )
    return [
        Element(ShardKey(queue, shard), idx, pk, version, None if stored[0] is None else KeptDocument(*stored))
        for queue, shard, idx, pk, version, *stored in await cursor.fetchall()
    ]


async def append_failed(tx: Tx, client: str, failures: Sequence[Failure]) -> int:
    """Puts elements into the queue `failed`, each once however often it is reported; returns how many are new.

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
        await tx.execute(SQL["append_failed"], {"client": client, "queues": queues, "shards": shards, "idxs": idxs})
    return len(noted)


async def report_progress(tx: Tx, group: str, client: str, cursors: Sequence[tuple[ShardKey, int]]) -> None:
    """Notes how far a group has come; a cursor that lies behind the one noted changes nothing."""
    await tx.execute(
        SQL["report_progress"],
        {
            "client": client,
            "group": group,
            "queues": [key.queue for key, _ in cursors],
            "shards": [key.shard for key, _ in cursors],
            "idxs": [idx for _, idx in cursors],
        },
    )


async def select_trimmable(tx: Tx, *, group_lifetime_s: float, limit: int) -> list[Trim]:
    """Returns the queues that every living group has read further than they are trimmed, with up to where to trim.

    Args:
        group_lifetime_s: a group that was silent for longer counts no more.
        limit: elements of each shard, at most.
    """
    parameters = {"group_lifetime_s": group_lifetime_s, "limit": limit}
    cursor = await tx.execute(SQL["select_trimmable"], parameters)
    return [Trim(client, ShardKey(queue, shard), upto) for client, queue, shard, upto in await cursor.fetchall()]


async def trim_shard(tx: Tx, trim: Trim) -> None:
    """Removes the elements of a shard up to `trim.upto`. One statement; may run twice, and at a time in two places."""
    await tx.execute(
        SQL["trim_shard"],
        {"client": trim.client, "queue": trim.key.queue, "shard": trim.key.shard, "upto": trim.upto},
    )
