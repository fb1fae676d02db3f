"""A process that starts before its migrate step, or while a server is away, waits and reports it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from psycopg.sql import SQL, Identifier, Literal

from classifeed_common.db import Database
from classifeed_common.db.revision import check_revision
from classifeed_common.errors import FailedPrecondition, Unavailable
from classifeed_common.runner import Role, ServiceRunner
from classifeed_common.runner.parts import SchemaCheck
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.rpc import settings_for
from classifeed_devkit.testing.tcp_proxy import TcpProxy
from classifeed_domain.policy import POLICY

PACKAGE = "shop_with_revisions"
NEEDED = "20261121_10"
Migrate = Callable[[str], Any]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    versions = tmp_path / PACKAGE / "migrations" / "versions"
    versions.mkdir(parents=True)
    for name in ("20261121_9_pre_first", "20261121_10_pre_second", "20261122_1_post_third", "__init__"):
        (versions / f"{name}.py").touch()
    (tmp_path / PACKAGE / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return PACKAGE


@pytest.fixture
def migrate(database: Database) -> Migrate:
    """Do the migrate step: create the table that a role reads, and the revision."""

    async def migrate(revision: str) -> None:
        version = Identifier(database.schema, "alembic_version")
        async with database.transaction() as tx:
            await tx.execute(SQL("CREATE TABLE IF NOT EXISTS {} (version_num text)").format(version))
            await tx.execute(SQL("DELETE FROM {}").format(version))
            await tx.execute(SQL("INSERT INTO {} VALUES ({})").format(version, Literal(revision)))
            await tx.execute("CREATE TABLE IF NOT EXISTS goods (id int)")

    return migrate


@pytest.mark.parametrize("revision", [NEEDED, "20261122_1", "20261122_2", "20271231_1"])
async def test_what_a_newer_version_has_migrated_further_will_do(
    database: Database, package: str, migrate: Migrate, revision: str
) -> None:
    await migrate(revision)
    async with database.connection() as connection:
        await check_revision(connection, package, database.schema)


async def test_what_is_missing_is_named_with_the_command(database: Database, package: str, migrate: Migrate) -> None:
    async with database.connection() as connection:
        with pytest.raises(
            FailedPrecondition, match=f"has no tables: run the migrate step .`python -m {PACKAGE} migrate`"
        ):
            await check_revision(connection, package, database.schema)
        await migrate("20261121_9")
        with pytest.raises(FailedPrecondition, match=f"is at revision 20261121_9, {PACKAGE} needs {NEEDED}: run"):
            await check_revision(connection, package, database.schema)


@asynccontextmanager
async def running(process: Process) -> AsyncIterator[Process]:
    try:
        yield process
    finally:
        process.stop.set()
        async with asyncio.timeout(60):
            await asyncio.gather(process.task, return_exceptions=True)


@pytest.fixture
async def process(database: Database, package: str) -> AsyncIterator[Process]:
    async with running(Process(database, package)) as process:
        yield process


class Process:
    """A service whose start and role read a table, after it has opened an object store.

    Attributes:
        goods: rows that start and role have read.
        store_fault: error of opening the object store; None: it opens.
    """

    def __init__(self, database: Database, package: str) -> None:
        self.goods: list[int] = []
        self.store_fault: Exception | None = None
        self.stop = asyncio.Event()
        self._database = database
        self._schema = SchemaCheck(database, package)
        self.runner = self._build()
        self.task = asyncio.create_task(self.runner.run(self.stop))

    def _build(self) -> ServiceRunner:
        settings = settings_for("offers").model_copy(update={"drain_notice_s": 0.0})
        roles = [Role("read", self._read)]
        return ServiceRunner(
            settings,
            "offers",
            "1.2.3",
            roles=roles,
            policy=POLICY,
            schema=self._schema,
            opens={"s3": self._open_store},
            on_start=self._open,
        )

    async def check(self) -> dict[str, str]:
        return await self._build().check()

    async def health(self) -> dict[str, Any]:
        await until(lambda: bool(self.runner.http_address), within_s=60)
        async with loopback_client() as client:
            found: dict[str, Any] = (await client.get(f"http://{self.runner.http_address}/health")).json()
        return found

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        health: dict[str, Any] = {}

        async def is_met() -> bool:
            nonlocal health
            health = await self.health()
            assert not self.task.done(), "the process has ended"
            return condition(health)

        await until(is_met, within_s=60)
        return health

    async def _open_store(self) -> None:
        if self.store_fault is not None:
            raise self.store_fault

    async def _open(self) -> None:
        await self._database.open()
        await self._count()

    async def _count(self) -> None:
        async with self._database.connection() as connection:
            row = await (await connection.execute("SELECT count(*) FROM goods")).fetchone()
        assert row is not None
        self.goods.append(row[0])

    async def _read(self, stop: asyncio.Event) -> None:
        await self._count()
        await stop.wait()


async def test_a_process_waits_for_its_migrate_step_and_goes_on_by_itself(process: Process, migrate: Migrate) -> None:
    health = await process.until(lambda health: "NOT_MIGRATED" in health["missing"].get("postgres", ""))
    assert health["status"] == "not ready"
    assert "postgres" in health["since"]
    assert "NOT_MIGRATED" in (await process.check())["postgres"]
    assert not process.goods
    await migrate("20261121_9")
    await process.until(lambda health: "is at revision 20261121_9" in health["missing"]["postgres"])
    assert not process.goods
    await migrate(NEEDED)
    await process.until(lambda health: health["status"] == "ready")
    assert process.goods == [0, 0]
    assert await process.check() == {}


async def test_a_process_that_waits_ends_when_it_is_stopped(process: Process) -> None:
    await process.until(lambda health: "NOT_MIGRATED" in health["missing"].get("postgres", ""))
    process.stop.set()
    async with asyncio.timeout(60):
        assert await process.task == 0
    assert not process.goods


async def test_a_process_waits_for_a_server_that_is_away_and_goes_on_by_itself(
    process: Process, migrate: Migrate
) -> None:
    process.store_fault = Unavailable("S3_UNAVAILABLE", "the object store refuses connections")
    await migrate(NEEDED)
    health = await process.until(lambda health: "refuses connections" in health["missing"].get("s3", ""))
    assert (health["status"], "s3" in health["since"]) == ("not ready", True)
    assert "refuses connections" in (await process.check())["s3"]
    assert not process.goods
    process.store_fault = None
    await process.until(lambda health: health["status"] == "ready")
    assert process.goods == [0, 0]
    assert await process.check() == {}


async def test_a_process_waits_for_a_database_that_is_away(
    database: Database, database_dsn: str, postgres_proxy: TcpProxy, package: str, migrate: Migrate
) -> None:
    await migrate(NEEDED)
    postgres_proxy.refuse()
    through = Database(postgres_proxy.dsn(database_dsn), schema=database.schema, application_name="late")
    async with running(Process(through, package)) as process:
        health = await process.until(lambda health: "OperationalError" in health["missing"].get("postgres", ""))
        assert health["status"] == "not ready"
        postgres_proxy.restore()
        await process.until(lambda health: health["status"] == "ready")
    await through.close()


async def test_a_fault_that_stays_ends_the_process(process: Process, migrate: Migrate) -> None:
    process.store_fault = ValueError("the name of the bucket is no name")
    await migrate(NEEDED)
    async with asyncio.timeout(60):
        with pytest.raises(ValueError, match="no name"):
            await process.task
