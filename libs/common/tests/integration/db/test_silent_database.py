"""Connections to PostgreSQL that stay open without a response are found, cut and replaced; slow ones are left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
import structlog.testing
from psycopg_pool import AsyncConnectionPool
from psycopg_pool.pool_async import AddConnection

from classifeed_common.db import Database, ResponseLost, Tx, is_passing_fault
from classifeed_common.runner.parts import database_of
from classifeed_common.telemetry.metrics import DB_DEAD_CONNECTIONS
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import Stopwatch, until
from classifeed_devkit.testing.rpc import settings_for
from classifeed_devkit.testing.tcp_proxy import MakeProxy, ProxiedDatabase, TcpProxy

pytestmark = pytest.mark.slow

# The protection by TCP alone.
NAIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}


@pytest.fixture
async def things(database: Database) -> Database:
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE things (id int PRIMARY KEY, n int NOT NULL DEFAULT 0, text text)")
        await connection.execute("INSERT INTO things VALUES (1)")
    return database


def dead() -> float:
    count: float = DB_DEAD_CONNECTIONS.labels("test")._value.get()
    return count


async def add(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute("UPDATE things SET n = n + 1 WHERE id = 1")


async def added(db: Database) -> int:
    async with db.connection() as connection:
        row = await (await connection.execute("SELECT n FROM test.things WHERE id = 1")).fetchone()
    assert row is not None
    return int(row[0])


async def persist(attempt: Callable[[], Awaitable[None]]) -> list[BaseException]:
    """Retry until success, as every role does; return the errors before."""
    faults: list[BaseException] = []
    while True:
        try:
            await attempt()
        except psycopg.OperationalError as error:
            assert is_passing_fault(error)
            faults.append(error)
        else:
            return faults


async def sessions(db: Database, name: str) -> int:
    async with db.connection() as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        row = await (await connection.execute(query, [name])).fetchone()
    assert row is not None
    return int(row[0])


@asynccontextmanager
async def filled(db: Database, count: int) -> AsyncIterator[None]:
    """Keep `count` pooled connections idle during the block."""
    ready, go_on = asyncio.Barrier(count + 1), asyncio.Event()

    async def hold() -> None:
        async with db.transaction() as tx:
            await tx.execute("SELECT 1")
            await ready.wait()
            await go_on.wait()

    holding = [asyncio.create_task(hold()) for _ in range(count)]
    await ready.wait()
    go_on.set()
    await asyncio.gather(*holding)
    yield


@in_campaigns
async def test_a_statement_on_a_silent_connection_ends_where_keepalives_wait_for_ever(
    things: Database, proxied_database: ProxiedDatabase, database_dsn: str, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()
    await add(db)
    naive = await psycopg.AsyncConnection.connect(
        postgres_proxy.dsn(psycopg.conninfo.make_conninfo(database_dsn, **NAIVE)), autocommit=True
    )
    before = dead()
    postgres_proxy.silence_existing()
    waiting = asyncio.create_task(naive.execute("SELECT 1"))
    watch = Stopwatch("plain transaction")
    with structlog.testing.capture_logs() as logs:
        faults = await persist(lambda: add(db))
    watch.stop()
    assert [type(fault) for fault in faults] == [ResponseLost]
    assert await added(things) == 2
    assert dead() == before + 1
    (warning,) = [log for log in logs if log["event"] == "db.connection.dead"]
    assert warning["log_level"] == "warning"
    assert warning["statement"] == "BEGIN"
    assert warning["silent_s"] >= 6

    async with asyncio.timeout(60):  # the kernel's limits pass without effect: the proxy acknowledges
        await asyncio.wait([waiting], timeout=12)
    assert not waiting.done()
    naive.pgconn.finish()
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_a_response_that_is_lost_on_its_way_is_not_waited_for(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()

    async def sleep_long() -> None:
        async with db.transaction() as tx:
            await tx.execute("SELECT pg_sleep(3)")

    sleeping = asyncio.create_task(sleep_long())
    await until(lambda: is_sleeping(things))
    postgres_proxy.silence_existing()
    watch = Stopwatch("a response lost on its way")
    with pytest.raises(ResponseLost, match="the session is idle in transaction and waits for the client"):
        await sleeping
    watch.stop()


async def is_sleeping(db: Database) -> bool:
    async with db.connection() as connection:
        found = await connection.execute(
            "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
        )
        return found.rowcount > 0


async def test_dead_connections_in_a_pool_are_found_once_and_not_one_after_the_other(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()
    async with filled(db, 4):
        pass
    before = dead()
    postgres_proxy.silence_existing()
    watch = Stopwatch("four dead connections in a pool")
    for _ in range(6):
        await persist(lambda: add(db))
    watch.stop()
    assert dead() == before + 1
    # The server does not learn that the clients are gone; the sessions must be ended nevertheless.
    await until(lambda: sessions_are(things, "proxied", at_most=1 + db.pool_stats()["pool_size"]))


async def sessions_are(db: Database, name: str, *, at_most: int) -> bool:
    return await sessions(db, name) <= at_most


async def test_once_one_is_dead_the_others_are_asked_about_sooner(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()
    async with db.dedicated_connection() as first, db.dedicated_connection() as second:
        postgres_proxy.silence_existing()
        with structlog.testing.capture_logs() as logs:
            for connection in (first, second):
                with pytest.raises(ResponseLost):
                    await connection.execute("SELECT 1")
    waited = [log["silent_s"] for log in logs if log["event"] == "db.connection.dead"]
    assert waited[1] < waited[0]


async def test_locks_of_a_dead_connection_do_not_hold_up_the_next_attempt(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database(idle_in_transaction_s=3600)  # the server would keep the locks for that long
    silenced = False

    async def add_over_a_silence() -> None:
        nonlocal silenced
        async with db.transaction() as tx:
            await tx.execute("UPDATE things SET n = n + 1 WHERE id = 1")
            if not silenced:
                silenced = bool(postgres_proxy.silence_existing())
            await tx.execute("SELECT 1")

    watch = Stopwatch("a transaction that holds locks")
    await persist(add_over_a_silence)
    watch.stop()
    assert await added(things) == 1


async def write_much(tx: Tx) -> None:
    async with tx.cursor().copy("COPY things (id, text) FROM STDIN") as copy:
        for number in range(10, 400):
            await copy.write_row((number, "x" * 100_000))


async def send_much(tx: Tx) -> None:
    await tx.execute("SELECT length(%s)", ["x" * 30_000_000])


async def read_much(tx: Tx) -> None:
    await (await tx.execute("SELECT repeat('x', 100000) FROM generate_series(1, 400)")).fetchall()


@pytest.mark.parametrize("work", [write_much, send_much, read_much])
async def test_a_connection_that_falls_silent_amid_much_data_is_found(
    things: Database,
    proxied_database: ProxiedDatabase,
    postgres_proxy: TcpProxy,
    work: Callable[[Tx], Coroutine[Any, Any, None]],
) -> None:
    db = await proxied_database()
    silenced = False

    async def attempt() -> None:
        nonlocal silenced
        async with db.transaction() as tx:
            await tx.execute("SELECT 1")
            working = asyncio.create_task(work(tx))
            if not silenced:
                begun = postgres_proxy.forwarded_bytes
                await until(lambda: postgres_proxy.forwarded_bytes > begun + 1_000_000)
                silenced = bool(postgres_proxy.silence_existing())
            await working

    watch = Stopwatch(f"amid much data: {work.__name__}")
    assert len(await persist(attempt)) == 1
    watch.stop()


async def test_slow_statements_are_not_cut_off(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()
    before = dead()

    async def sleep_long() -> None:
        async with db.transaction() as tx:
            await tx.execute("SELECT pg_sleep(15)")

    async def wait_for_a_lock() -> None:
        async with db.transaction() as tx:
            await tx.execute("UPDATE things SET n = n + 1 WHERE id = 1")

    async def copy_into_a_lock() -> None:
        async with db.transaction() as tx:
            await tx.execute("SELECT 1")
            await write_much(tx)

    async with things.transaction() as holder:
        await holder.execute("UPDATE things SET n = n + 1 WHERE id = 1")
        # The COPY waits amid its data for the commit of an id.
        await holder.execute("INSERT INTO things (id) VALUES (200)")
        working = [asyncio.create_task(each()) for each in (sleep_long, wait_for_a_lock, copy_into_a_lock)]
        await working[0]
        assert not working[1].done()
        assert not working[2].done()
        await holder.execute("DELETE FROM things WHERE id = 200")
    await asyncio.gather(*working)
    assert await added(things) == 2
    assert dead() == before


async def test_a_server_that_stands_still_fails_nothing(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()
    await add(db)
    before = dead()
    with structlog.testing.capture_logs() as logs:
        postgres_proxy.silence_all()
        adding = [asyncio.create_task(add(db)) for _ in range(3)]
        await until(lambda: any(log["event"] == "db.server.silent" for log in logs))
        postgres_proxy.resume()
        await asyncio.gather(*adding)
    assert await added(things) == 4
    assert dead() == before


@in_campaigns
async def test_after_a_silence_of_everything_only_the_dead_connections_are_replaced(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()
    await add(db)
    with structlog.testing.capture_logs() as logs:
        postgres_proxy.silence_all()
        adding = asyncio.create_task(persist(lambda: add(db)))
        await until(lambda: any(log["event"] == "db.server.silent" for log in logs))
        assert not adding.done()
        postgres_proxy.restore()
        watch = Stopwatch("once new connections work again")
        await adding
        watch.stop()
    assert await added(things) == 2


async def test_a_silence_that_nobody_can_explain_ends_at_its_limit(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database(unanswered_s=9)
    await add(db)
    postgres_proxy.silence_all()
    with pytest.raises(ResponseLost, match="the server does not report"):
        await add(db)


@in_campaigns
async def test_behind_a_pooler_the_limit_ends_a_silence(
    things: Database, database_dsn: str, tcp_proxy: MakeProxy, postgres_proxy: TcpProxy
) -> None:
    """The process ids are the pooler's, so the server's reports about them have no meaning."""
    host, port = postgres_proxy.upstream
    pooler = tcp_proxy(host, port, rewrite=with_other_pid)
    db = Database(pooler.dsn(database_dsn), schema="test", application_name="pooled", unanswered_s=12)
    await db.open()
    before = dead()
    with structlog.testing.capture_logs() as logs:
        async with db.transaction() as tx:
            await tx.execute("SELECT pg_sleep(9)")  # would be cut if the report "gone" were believed
    assert [log["event"] for log in logs if log["event"].startswith("db.")] == ["db.probe.pooled"]
    assert dead() == before
    pooler.silence_existing()
    with pytest.raises(ResponseLost, match="the server does not report"):
        await add(db)
    await add(db)
    await db.close()


def with_other_pid(data: bytes) -> bytes:
    """Return BackendKeyData with another process id, as a pooler sends it."""
    begin, found, rest = data.partition(b"K\0\0\0\x0c")
    return begin + found + b"\x7f\xff\xff\xff" + rest[4:] if found else data


async def test_without_a_pool_the_limit_that_operators_set_ends_a_silence(
    things: Database, database_dsn: str, postgres_proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "DSN": postgres_proxy.dsn(database_dsn),
        "DB_SCHEMA": things.schema,
        "DB_USE_POOL": "false",
        "DB_UNANSWERED_S": "10",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"CLASSIFEED_RECEIVER_{name}", value)
    db = database_of(settings_for("receiver"))
    await db.open()

    async def add_over_a_silence() -> None:
        async with db.transaction() as tx:
            postgres_proxy.silence_existing()
            await tx.execute("UPDATE things SET n = n + 1 WHERE id = 1")

    with structlog.testing.capture_logs() as logs, pytest.raises(ResponseLost):
        await add_over_a_silence()
    assert [log["silent_s"] for log in logs if log["event"] == "db.connection.dead"] == [10]
    await add(db)
    assert await added(things) == 1
    await db.close()


async def test_a_task_that_is_cancelled_on_a_dead_connection_ends(
    things: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    db = await proxied_database()
    await add(db)
    postgres_proxy.silence_existing()
    adding = asyncio.create_task(add(db))
    await asyncio.sleep(0)
    watch = Stopwatch("cancelling a statement on a dead connection")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await adding
    watch.stop()
    await persist(lambda: add(db))
    assert await added(things) == 2


@in_campaigns
async def test_a_pool_connects_soon_after_a_long_absence_of_the_server(
    things: Database,
    database_dsn: str,
    proxied_database: ProxiedDatabase,
    postgres_proxy: TcpProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """psycopg's own pauses double: after an absence of 17 s the next attempt is at about second 31."""
    pauses: dict[str, list[float]] = {"ours": [], "naive": []}
    schedule_task = AsyncConnectionPool.schedule_task

    async def record(pool: Any, task: Any, delay: float) -> None:
        if isinstance(task, AddConnection):
            pauses["naive" if pool is naive else "ours"].append(delay)
        await schedule_task(pool, task, delay)

    monkeypatch.setattr(AsyncConnectionPool, "schedule_task", record)
    ours = await proxied_database()
    naive = AsyncConnectionPool(postgres_proxy.dsn(database_dsn), min_size=1, max_size=1, timeout=120, open=False)
    await naive.open(wait=True)
    postgres_proxy.refuse()
    postgres_proxy.cut_existing()

    async def use_naive() -> None:
        async with naive.connection() as connection:
            await connection.execute("SELECT 1")

    adding = [asyncio.create_task(persist(each)) for each in (lambda: add(ours), use_naive)]
    async with asyncio.timeout(60):
        while max(pauses["naive"], default=0) <= 10:
            await asyncio.sleep(0.1)
    postgres_proxy.restore()
    watch = Stopwatch("pool: after an absence of some 17 s")
    await adding[0]
    watch.stop()
    await adding[1]
    watch.stop()
    await naive.close()
    assert max(pauses["ours"]) <= 2
    assert max(pauses["naive"]) > 10
