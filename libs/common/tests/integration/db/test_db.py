from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import psycopg
import pytest
from psycopg.abc import PQGen
from psycopg_pool import PoolClosed, PoolTimeout

from classifeed_common.db import Database, Tx, after_commit, is_passing_fault
from classifeed_common.db.connection import WatchedConnection

T = TypeVar("T")


async def test_a_transaction_commits_at_its_end_and_rolls_back_on_an_error(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("CREATE TABLE things (id int)")
        await tx.execute("INSERT INTO things VALUES (1)")

    async def insert_and_fail() -> None:
        async with database.transaction() as tx:
            await tx.execute("INSERT INTO things VALUES (2)")
            raise LookupError

    with pytest.raises(LookupError):
        await insert_and_fail()
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT id FROM test.things")).fetchall()
    assert rows == [(1,)]


async def test_a_timeout_ends_the_statement_and_does_not_outlive_the_transaction(database: Database) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled) as caught:
        async with database.transaction(timeout_s=0.05) as tx:
            await tx.execute("SELECT pg_sleep(30)")
    assert is_passing_fault(caught.value)
    async with database.transaction() as tx:
        assert await (await tx.execute("SHOW statement_timeout")).fetchone() == ("0",)


async def test_a_transaction_that_stands_still_loses_its_locks(database_dsn: str, database: Database) -> None:
    impatient = Database(database_dsn, schema="test", application_name="paused", idle_in_transaction_s=1)
    await impatient.open()
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE things (id int)")
        await connection.execute("INSERT INTO things VALUES (1)")

    async def stand_still() -> None:
        async with impatient.transaction() as paused:
            await paused.execute("UPDATE things SET id = 2")
            async with database.transaction(timeout_s=20) as tx:  # waits until the server ends `paused`
                await tx.execute("UPDATE things SET id = 3")
            await paused.execute("SELECT 1")

    with pytest.raises(psycopg.Error) as caught:
        await stand_still()
    await impatient.close()
    assert is_passing_fault(caught.value)
    async with database.connection() as connection:
        assert await (await connection.execute("SELECT id FROM things")).fetchall() == [(3,)]


async def test_a_dedicated_connection_hears_notifications_while_the_pool_is_used(database: Database) -> None:
    async with database.dedicated_connection() as listener:
        await listener.execute("LISTEN news")
        async with database.transaction() as tx:
            await tx.execute("NOTIFY news, 'hello'")
        heard = [note.payload async for note in listener.notifies(timeout=60, stop_after=1)]
    assert heard == ["hello"]


async def test_a_listener_that_hears_nothing_wakes_for_its_own_limit_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Psycopg polls ten times a second for Ctrl-C; every service with jobs has a listener."""
    woken = 0
    wait_for = WatchedConnection.wait

    def counted(gen: PQGen[T]) -> Generator[Any, Any, T]:
        nonlocal woken
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                woken += 1
                wanted = gen.send(ready)
        except StopIteration as end:
            return cast(T, end.value)

    async def wait(self: WatchedConnection, gen: PQGen[T], *args: Any, **options: Any) -> T:
        return await wait_for(self, counted(gen), *args, **options)

    async with database.dedicated_connection() as listener:
        await listener.execute("LISTEN news")
        monkeypatch.setattr(WatchedConnection, "wait", wait)
        assert [note async for note in listener.notifies(timeout=0.5)] == []
    assert woken == 1


async def test_lasting_faults_are_not_passing(database: Database) -> None:
    with pytest.raises(psycopg.Error) as caught:
        async with database.transaction() as tx:
            await tx.execute("SELECT no_such_column")
    assert not is_passing_fault(caught.value)
    assert not is_passing_fault(ValueError())


async def test_a_pool_survives_the_end_of_its_connections(database: Database, database_dsn: str) -> None:
    async with database.connection() as connection:
        pid = connection.info.backend_pid
    with psycopg.connect(database_dsn, autocommit=True) as killer:
        killer.execute("SELECT pg_terminate_backend(%s, 60000)", [pid])
    with pytest.raises(psycopg.OperationalError) as caught:
        async with database.transaction() as tx:
            await tx.execute("SELECT 1")
    assert is_passing_fault(caught.value)
    async with database.transaction() as tx:
        assert await (await tx.execute("SELECT 1")).fetchone() == (1,)


def test_a_schema_is_a_plain_name() -> None:
    with pytest.raises(ValueError, match="plain lower-case name"):
        Database("", schema="a; DROP TABLE x", application_name="test")


async def test_a_cancellation_counts_though_a_connection_comes_at_the_same_time(database_dsn: str) -> None:
    """The wait of psycopg_pool loses it before Python 3.12: the cancelled task would never end."""
    database = Database(database_dsn, schema="test", application_name="test", min_size=1, max_size=1)
    await database.open()

    async def wait() -> None:
        async with database.connection() as connection:
            await connection.execute("SELECT 1")

    cancelled = 0
    for steps in range(30):
        async with database.connection():
            task = asyncio.create_task(wait())
            await asyncio.sleep(0.001)
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.cancel():
            await asyncio.wait([task])
            assert task.cancelled(), f"not {steps} steps after the connection was free"
            cancelled += 1
        async with asyncio.timeout(10):
            await wait()  # the connection was returned
    assert cancelled > 3
    await database.close()


async def test_a_pooled_connection_is_replaced_at_its_age(database_dsn: str) -> None:
    database = Database(database_dsn, schema="public", application_name="aging", max_size=1, recycle_s=0.05)
    await database.open()
    try:
        async with asyncio.timeout(60):
            first = await backend_of(database)
            while await backend_of(database) == first:
                await asyncio.sleep(0.01)
    finally:
        await database.close()


async def test_a_pooled_connection_stays_until_then(database: Database) -> None:
    assert len({await backend_of(database) for _ in range(20)}) == 1


async def backend_of(database: Database) -> int:
    async with database.transaction() as tx:
        return tx.info.backend_pid


@pytest.fixture
async def unpooled(database_dsn: str, database: Database) -> AsyncIterator[Database]:
    unpooled = Database(
        database_dsn, schema="test", application_name="unpooled", use_pool=False, max_size=2, acquire_timeout_s=0.1
    )
    await unpooled.open()
    yield unpooled
    await unpooled.close()


async def sessions(database: Database, name: str) -> int:
    async with database.connection() as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        row = await (await connection.execute(query, [name])).fetchone()
    assert row is not None
    return int(row[0])


async def test_without_a_pool_each_transaction_has_a_connection_of_its_own(
    unpooled: Database, database: Database
) -> None:
    assert len({await backend_of(unpooled) for _ in range(5)}) == 5
    async with unpooled.transaction() as tx:
        await tx.execute("CREATE TABLE things (id int)")
        await tx.execute("INSERT INTO test.things VALUES (1)")
        assert await sessions(database, "unpooled") == 1
        for _ in range(20):
            await tx.execute("SELECT id FROM things")
        prepared = await (await tx.execute("SELECT count(*) FROM pg_prepared_statements")).fetchone()
    assert prepared == (0,)
    async with asyncio.timeout(60):  # the server closes a session after its client
        while await sessions(database, "unpooled"):
            await asyncio.sleep(0.01)


async def test_without_a_pool_no_more_connections_are_made_than_allowed(unpooled: Database) -> None:
    async with unpooled.connection(), unpooled.connection():
        assert unpooled.pool_stats() == {"pool_max": 2, "pool_size": 2, "requests_waiting": 0}
        with pytest.raises(PoolTimeout, match="no connection became free") as caught:
            await backend_of(unpooled)
        assert is_passing_fault(caught.value)
    assert await backend_of(unpooled) > 0

    async def make_and_fail() -> None:
        async with unpooled.transaction() as tx:
            await tx.execute("CREATE TABLE gone (id int)")
            raise LookupError

    with pytest.raises(LookupError):
        await make_and_fail()
    async with unpooled.connection() as connection:
        assert await (await connection.execute("SELECT to_regclass('gone')")).fetchone() == (None,)
    await unpooled.close()
    with pytest.raises(PoolClosed):
        await backend_of(unpooled)


async def test_without_a_pool_a_server_that_is_away_is_waited_for() -> None:
    database = Database("host=/nowhere", schema="test", application_name="away", use_pool=False)
    with pytest.raises(PoolTimeout, match=r"could not be reached within 0\.3 s"):
        await database._pool.open(wait=True, timeout=0.3)


async def test_names_are_looked_for_in_further_schemas_after_the_own(database: Database, database_dsn: str) -> None:
    async with database.connection() as connection:
        await connection.execute("CREATE SCHEMA beside")
        for table in ("test.shared", "beside.shared", "beside.other"):
            await connection.execute(f"CREATE TABLE {table} AS SELECT '{table}' AS place")
    joined = Database(database_dsn, schema="test", further_schemas=["beside"], application_name="joined")
    await joined.open()
    async with joined.transaction() as tx:
        found = [await (await tx.execute(f"SELECT place FROM {name}")).fetchone() for name in ("shared", "other")]
        await tx.execute("CREATE TABLE test_or_beside ()")
    await joined.close()
    assert found == [("test.shared",), ("beside.other",)]
    async with database.connection() as connection:
        assert await (await connection.execute("SELECT to_regclass('test.test_or_beside')::text")).fetchone() != (None,)
    with pytest.raises(ValueError, match="not a plain lower-case name"):
        Database(database_dsn, schema="test", further_schemas=["x; DROP"], application_name="joined")


async def test_what_tells_of_an_effect_is_told_after_the_commit_and_of_none_that_was_rolled_back(
    database: Database,
) -> None:
    calls: list[str] = []
    of: ContextVar[str] = ContextVar("of", default="nobody")

    async def fail(tx: Tx) -> None:
        async with tx.transaction():
            after_commit(tx, lambda: calls.append("savepoint"))
            raise LookupError

    async with database.transaction() as tx:
        of.set("anna")
        after_commit(tx, lambda: calls.append(f"of {of.get()}"))
        of.set("later")
        with pytest.raises(LookupError):
            await fail(tx)
        async with tx.transaction():
            after_commit(tx, lambda: calls.append("inner"))
        assert calls == []
    assert calls == ["of anna", "inner"]

    async def fail_alone() -> None:
        async with database.transaction() as tx:
            await fail(tx)

    with pytest.raises(LookupError):
        await fail_alone()
    async with database.transaction() as tx:  # on the same pooled connection
        pass
    assert calls == ["of anna", "inner"]


async def test_nothing_is_called_after_a_rollback_that_raises_nothing(database: Database) -> None:
    calls: list[str] = []
    async with database.transaction() as tx:
        after_commit(tx, lambda: calls.append("outer"))
        async with tx.transaction(force_rollback=True):
            after_commit(tx, lambda: calls.append("inner"))
    assert calls == ["outer"]

    async def roll_back() -> None:
        async with database.transaction() as tx:
            after_commit(tx, lambda: calls.append("rolled back"))
            raise psycopg.Rollback

    await roll_back()
    assert calls == ["outer"]
