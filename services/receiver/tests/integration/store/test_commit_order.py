from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import Any

from classifeed_common.db import Database, Tx
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_receiver.domain.documents import Acknowledged, Freshness, NewDocument, Stale, Status
from classifeed_receiver.store import registry

from ...conftest import Build, Receiver

WRITERS = 6
PUSHES = 40

Write = Callable[[Tx, NewDocument], Awaitable[None]]


def keys_of_shard(shard: int) -> Any:
    number = 0
    while True:
        pk = f"key-{number}"
        if shard_of(hash_of(pk)) == shard:
            yield pk
        number += 1


async def find_late_ones(database: Database, build: Build, write: Write) -> list[tuple[int, int]]:
    """Fill one shard while a reader follows; return the elements that appeared below its cursor: (seen, late)."""
    keys = keys_of_shard(5)
    template = build.upsert("x")
    late: list[tuple[int, int]] = []
    seen: set[int] = set()
    done = asyncio.Event()

    async def read() -> None:
        async with database.connection() as connection:
            while True:
                is_last = done.is_set()
                rows = await (await connection.execute("SELECT idx FROM elements WHERE shard = 5")).fetchall()
                new = {idx for (idx,) in rows} - seen
                top = max(seen, default=0)
                late.extend((top, idx) for idx in new if idx < top)
                seen.update(new)
                if is_last:
                    return

    async def push(mine: list[str]) -> None:
        for number, pk in enumerate(mine):
            freshness = Freshness(1, 1, template.timestamp.ToDatetime(tzinfo=UTC))
            document = NewDocument(pk, hash_of(pk), freshness, Status.LIVE, None, b"x")
            async with database.transaction() as tx:
                await write(tx, document)
                # Transactions end in another order than they began, because some do more work than others.
                await tx.execute("SELECT pg_sleep(%s)", [0.002 if number % 3 else 0.0])

    reading = asyncio.create_task(read())
    await asyncio.gather(*[push([next(keys) for _ in range(PUSHES)]) for _ in range(WRITERS)])
    done.set()
    await reading
    assert len(seen) == WRITERS * PUSHES
    return late


async def test_a_reader_never_finds_a_smaller_one_later(receiver_database: Database, build: Build) -> None:
    async def write(tx: Tx, document: NewDocument) -> None:
        await registry.write_documents(tx, "offers", [document], compress_from_bytes=10_000)

    assert await find_late_ones(receiver_database, build, write) == []


async def test_a_plain_sequence_skips(receiver_database: Database) -> None:
    """The naive way: numbers are drawn at the beginning, and become visible in another order."""
    async with receiver_database.connection() as connection:
        await connection.execute("CREATE SEQUENCE naive")

    async def write(tx: Tx, pk: str) -> None:
        await tx.execute(
            "INSERT INTO elements VALUES ('offers', 1, 5, nextval('naive'), %s, %s, 1, 1, clock_timestamp())",
            [hash_of(pk), pk],
        )

    async def seen() -> list[int]:
        async with receiver_database.connection() as connection:
            rows = await (await connection.execute("SELECT idx FROM elements ORDER BY idx")).fetchall()
        return [idx for (idx,) in rows]

    async with receiver_database.transaction() as late:
        await write(late, "first to draw, last to commit")
        async with receiver_database.transaction() as early:
            await write(early, "last to draw, first to commit")
        before = await seen()
    assert (before, await seen()) == ([2], [1, 2])


async def test_batches_with_common_shards_and_keys_do_not_deadlock(
    receiver: Receiver, make_receiver: Callable[..., Any], build: Build
) -> None:
    """Two replicas write the same keys at the same time, given in opposite orders."""
    replicas = [make_receiver(limit_s=300) for _ in range(2)]
    keys = [f"k{number}" for number in range(400)]

    outcome_types: set[type] = set()
    for version in range(1, 21):
        # Both push concurrently in every round: either may be first, and the other one may be stale.
        for outcomes in await asyncio.gather(
            replicas[0].push(*[build.upsert(pk, version) for pk in keys]),
            replicas[1].push(*[build.upsert(pk, version) for pk in reversed(keys)]),
        ):
            outcome_types |= {type(outcome) for outcome in outcomes}
    assert Acknowledged in outcome_types
    assert outcome_types <= {Acknowledged, Stale}  # a deadlock would be a Retry
    rows = await receiver.fetch(
        "SELECT max(e.idx) = s.last_idx FROM elements e JOIN shards s USING (queue, shard) GROUP BY shard, s.last_idx"
    )
    assert {is_last for (is_last,) in rows} == {True}
    for replica in replicas:
        await replica.push_documents.stop()
