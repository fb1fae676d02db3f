"""Outbox and publish mark while a transaction is open elsewhere, so that dead rows cannot be removed.

The tests count the pages that a read touches; times would depend on the machine.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import psycopg
import pytest

from classifeed_common.db import Database, Tx, ddl, load_queries
from classifeed_common.kafka import Message
from classifeed_common.lease import Lease, Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_common.outbox.cursor import OutboxCursor
from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_common.pacing.scan_cursor import ScanCursor
from classifeed_common.publish_mark import FIRST_VERSION, MarkPusher, next_version

ROUNDS, BATCH = 20, 1000
READ_FRONT = load_queries("classifeed_common.outbox")["read_front"]
SELECT_DUE = (
    "SELECT id, version FROM goods WHERE version > published_version AND version > %(above)s "
    "ORDER BY version LIMIT %(limit)s"
)
ADVANCE = """
UPDATE goods g SET published_version = d.version
FROM unnest(%(ids)s::int[], %(versions)s::bigint[]) AS d (id, version)
WHERE g.id = d.id AND g.published_version < d.version
"""


class Sink:
    """Accepts messages in place of Kafka."""

    def __init__(self) -> None:
        self.values: list[bytes] = []

    async def send(self, messages: Sequence[Message], *, limit_s: float | None = None) -> None:
        self.values.extend(message.value for message in messages)


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute(ddl("outbox", 1))
        await tx.execute(ddl("leases", 1))
        await tx.execute(
            "CREATE TABLE goods (id int PRIMARY KEY, version bigint NOT NULL, published_version bigint NOT NULL)"
        )
        await tx.execute("CREATE INDEX goods_due ON goods (version) WHERE version > published_version")
        # If autovacuum counts 1,000 waiting rows in 167 pages, a sequential scan is the cheaper plan.
        for table in ("outbox", "goods"):
            await tx.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    return database


@pytest.fixture
async def open_snapshot(db: Database, database_dsn: str) -> AsyncIterator[None]:
    """Keep a transaction open that has read something."""
    connection = await psycopg.AsyncConnection.connect(database_dsn)
    async with connection:
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        await connection.execute("SELECT count(*) FROM test.outbox")
        yield
        await connection.rollback()


async def pages_of(db: Database, statement: str, parameters: dict[str, Any]) -> int:
    async with db.connection() as connection:
        cursor = await connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters)
        [[plan]] = await cursor.fetchall()
    top = (plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


async def put(db: Database, values: Sequence[bytes]) -> None:
    async with db.transaction() as tx:
        await Outbox().put(tx, [Message("topic", b"key", value) for value in values])


async def lease_of(leases: Leases, name: str) -> Lease:
    lease = await leases.acquire(name)
    assert lease is not None
    return lease


@pytest.fixture
def relay(db: Database) -> Relay:
    return Relay(db, Sink(), Leases(db, "one", 600), max_messages=BATCH)  # type: ignore[arg-type]


async def churn(db: Database, relay: Relay) -> None:
    lease = await lease_of(relay._leases, "outbox:0")
    for number in range(ROUNDS):
        await put(db, [b"%d" % number] * BATCH)
        assert await relay._send_front(lease) == BATCH


@pytest.mark.usefixtures("open_snapshot")
async def test_the_relay_reads_few_pages_however_much_was_sent(db: Database, relay: Relay) -> None:
    await churn(db, relay)
    await put(db, [b"last"])
    read = {"shard": 0, "limit": BATCH}
    naive = await pages_of(db, READ_FRONT, {**read, "after": 0})
    assert await pages_of(db, READ_FRONT, {**read, "after": relay._cursor.position}) < naive / 2
    # All but the step, the largest distance of the cursor.
    assert relay._cursor.position >= (ROUNDS - 1) * BATCH - 5000 - BATCH


async def test_the_cursor_does_not_pass_an_id_that_may_still_be_committed(db: Database, database_dsn: str) -> None:
    sink = Sink()
    relay = Relay(db, sink, Leases(db, "one", 600), max_messages=3)  # type: ignore[arg-type]
    relay._cursor = OutboxCursor(step=1)
    lease = await lease_of(relay._leases, "outbox:0")
    await put(db, [b"1", b"2"])
    assert await relay._send_front(lease) == 2
    async with db.transaction() as late:
        await Outbox().put(late, [Message("topic", b"key", b"late")])  # draws an id, but commits last
        for number in range(5):
            await put(db, [b"early"] * 3)
            assert await relay._send_front(lease) == 3, number
            assert relay._cursor.position < 3
    # The next message of its key, which must not be sent first.
    await put(db, [b"next"])
    assert await relay._send_front(lease) == 2
    assert sink.values[-2:] == [b"late", b"next"]
    for _ in range(3):
        await put(db, [b"x"] * 3)
        await relay._send_front(lease)
    assert relay._cursor.position > 18


async def test_an_outbox_whose_ids_begin_again_is_sent_within_a_full_scan(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Sink()
    relay = Relay(db, sink, Leases(db, "one", 600), max_messages=10)  # type: ignore[arg-type]
    relay._cursor = OutboxCursor(step=1)
    lease = await lease_of(relay._leases, "outbox:0")
    for _ in range(5):
        await put(db, [b"before"] * 10)
        await relay._send_front(lease)
    assert relay._cursor.position > 0
    async with db.transaction() as tx:
        await tx.execute("ALTER TABLE outbox ALTER COLUMN id RESTART WITH 1")
    await put(db, [b"restored"])
    relay._cursor._full_scans = DutyCycle()  # as if a minute had passed
    assert await relay._send_front(lease) == 1
    assert sink.values[-1] == b"restored"


def pusher_of(db: Database, push: Callable[[Sequence[Any]], Any]) -> MarkPusher:
    return MarkPusher(
        db, name="goods", select_due=SELECT_DUE, advance=ADVANCE, push=push, leases=Leases(db, "one", 600), batch=BATCH
    )


@pytest.mark.usefixtures("open_snapshot")
async def test_the_pusher_reads_few_pages_however_much_was_pushed(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def push(rows: Sequence[Any]) -> list[bool]:
        return [True] * len(rows)

    pusher = pusher_of(db, push)
    pusher._cursor = ScanCursor(0, DutyCycle(long_s=-1.0))
    lease = await lease_of(pusher._leases, pusher.lease_name)
    async with db.transaction() as tx:
        await tx.execute(f"INSERT INTO goods SELECT n, {FIRST_VERSION}, 0 FROM generate_series(1, %s) AS n", [BATCH])
    for _ in range(ROUNDS):
        assert await pusher._push_batch(lease)
        async with db.transaction() as tx:
            await tx.execute(f"UPDATE goods SET version = {next_version('version')}")
    naive = await pages_of(db, SELECT_DUE, {"limit": BATCH, "above": 0})
    assert await pages_of(db, SELECT_DUE, {"limit": BATCH, "above": pusher._cursor.position}) < naive / 2
    # The gauge also, while rows are due; only a full scan shows that none is.
    counted: list[int] = []
    count = pusher._count

    async def note(connection: Tx, above: int) -> int:
        counted.append(above)
        return await count(connection, above)

    monkeypatch.setattr(pusher, "_count", note)
    assert await pusher.backlog() == BATCH
    [above] = counted
    counting = f"SELECT count(*) FROM ({SELECT_DUE}) AS due"
    naive = await pages_of(db, counting, {"limit": 100_000, "above": 0})
    assert await pages_of(db, counting, {"limit": 100_000, "above": above}) < naive / 2
    assert await pusher._push_batch(lease)
    assert await pusher.backlog() == 0
    assert counted[-1] == 0


async def test_rows_below_the_cursor_are_pushed_by_the_next_full_scan(db: Database) -> None:
    pushed: list[int] = []

    async def push(rows: Sequence[Any]) -> list[bool]:
        pushed.extend(row[0] for row in rows)
        return [True] * len(rows)

    now_s = 1000.0
    pusher = pusher_of(db, push)
    pusher._cursor = cursor = ScanCursor(0, DutyCycle(long_s=-1.0, clock_s=lambda: now_s))
    lease = await lease_of(pusher._leases, pusher.lease_name)
    async with db.transaction() as tx:
        await tx.execute("INSERT INTO goods VALUES (1, 100, 0)")
    cursor.read(cursor.begin(), 50, 0.5)  # a full scan that took half a second: the next one follows after 10 s
    async with db.transaction() as tx:
        await tx.execute("INSERT INTO goods VALUES (2, 40, 0)")  # committed late, or due again
    await pusher._push_batch(lease)
    assert pushed == [1]
    now_s += 9.0
    assert not await pusher._push_batch(lease)
    now_s += 1.5
    assert await pusher._push_batch(lease)
    assert pushed == [1, 2]


def test_a_cursor_is_at_rest_where_full_scans_are_short() -> None:
    now_s = 0.0
    cursor = ScanCursor(0, DutyCycle(long_s=0.003, clock_s=lambda: now_s))
    for version in range(1, 100):
        assert cursor.begin() == 0
        cursor.read(0, version, 0.001)
