"""Behind PgBouncer a worker runs in session mode and refuses transaction mode; producers may use both."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.requirements import lacking

from classifeed_common.db import Database
from classifeed_devkit.testing.background import running
from classifeed_jobs import JobContext, Worker
from classifeed_jobs.worker.pooler import PoolerError

from ..conftest import Bench, until

Pooled: TypeAlias = Callable[[str], Database]


@pytest.fixture
def pooled(bench: Bench, tmp_path: Path) -> Iterator[Pooled]:
    """Yield a factory of databases behind a PgBouncer in the given mode."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        lacking("pgbouncer", "it is not installed (apt-get install pgbouncer)")
        raise AssertionError("unreachable")
    started: list[subprocess.Popen[bytes]] = []

    def start(mode: str) -> Database:
        given = conninfo_to_dict(bench.db.dsn)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = f"host={given['host']} port={given['port']} user={given['user']} dbname={given['dbname']}"
        if given.get("password"):
            server += f" password={given['password']}"
        config = tmp_path / "pgbouncer.ini"
        config.write_text(
            f"[databases]\npooled = {server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\nignore_startup_parameters = options\n"
            "default_pool_size = 20\nmax_client_conn = 100\n"
        )
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
        user = ["-u", "nobody"] if os.getuid() == 0 else []
        started.append(subprocess.Popen([program, *user, str(config)], stderr=subprocess.DEVNULL))
        dsn = make_conninfo(host="127.0.0.1", port=port, user=given["user"], dbname="pooled")
        return Database(dsn, schema=bench.db.schema, application_name="pooled", use_pool=False)

    yield start
    for process in started:
        process.terminate()
        process.wait()


async def _open(bench: Bench, database: Database) -> None:
    # The pooler drops start-up options, so the role has the search path.
    user = conninfo_to_dict(bench.db.dsn)["user"]
    name = conninfo_to_dict(bench.db.dsn)["dbname"]
    await bench.execute(f'ALTER ROLE "{user}" IN DATABASE "{name}" SET search_path = {bench.db.schema}')

    async def responds() -> bool:
        try:
            async with database.dedicated_connection() as connection:
                await connection.execute("SELECT 1")
        except OSError:
            return False
        except Exception as error:
            if "Connection refused" in str(error):
                return False
            raise
        return True

    await until(responds)
    await database.open()


async def test_worker_refuses_a_pooler_in_transaction_mode_with_the_reason(bench: Bench, pooled: Pooled) -> None:
    database = pooled("transaction")
    await _open(bench, database)
    worker = Worker(database, bench.store, bench.registry, queues={"q": 1})
    async with asyncio.timeout(60):
        with pytest.raises(
            PoolerError, match=r"pooler in transaction mode.* Give processes that work the server's own"
        ):
            await worker.run(asyncio.Event())
    # Producers need no session.
    for _ in range(8):
        async with database.transaction() as tx:
            await bench.store.enqueue(tx, "q", "noop", {})
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 8
    await database.close()


async def test_worker_runs_behind_a_pooler_in_session_mode(bench: Bench, pooled: Pooled) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        async with ctx.guarded_transaction():
            pass

    database = pooled("session")
    await _open(bench, database)
    async with running(Worker(database, bench.store, bench.registry, queues={"q": 2}, claim_backoff_s=3600.0)):
        ids = [await bench.enqueue() for _ in range(20)]
        assert await bench.ended(*ids) == ["succeeded"] * 20
    await database.close()
