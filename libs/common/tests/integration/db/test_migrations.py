from __future__ import annotations

import secrets
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import psycopg
import pytest
import sqlalchemy
from psycopg.conninfo import make_conninfo

from classifeed_common.db import shared_tables
from classifeed_common.db.migrations import MigrationError, check_drift, migrate, run
from classifeed_devkit.testing.tcp_proxy import TcpProxy


class Shop:
    """A package with migrations that the test writes."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self.folder, self.dsn = folder, dsn
        self.last: str | None = None
        (folder / "shop" / "migrations" / "versions").mkdir(parents=True)
        (folder / "shop" / "__init__.py").touch()

    def add(self, revision: str, upgrade: str, phase: str = "pre") -> None:
        (self.folder / "shop" / "migrations" / "versions" / f"{revision}.py").write_text(
            "from alembic import op\nfrom classifeed_common.db import ddl\n"
            f"revision = {revision!r}\ndown_revision = {self.last!r}\nPHASE = {phase!r}\n"
            f"def upgrade():\n    {upgrade}\n"
        )
        self.last = revision

    def migrate(self, phase: str = "all") -> None:
        migrate("shop", self.dsn, "shop", phase)  # type: ignore[arg-type]

    def query(self, sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(sql).fetchall()

    def version(self) -> object:
        return self.query("SELECT version_num FROM shop.alembic_version")[0][0]


@pytest.fixture
def shop(tmp_path: Path, database_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    return Shop(tmp_path, database_dsn)


def test_an_empty_database_is_migrated_into_its_schema_and_again_without_effect(shop: Shop) -> None:
    shop.add("0001", "op.execute(ddl('leases', 1)); op.execute(ddl('blob_refs', 1))")
    shop.migrate()
    shop.migrate()
    tables = shop.query("SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('shop', 'public')")
    assert set(tables) == {("shop", name) for name in ("alembic_version", "leases", "blobs", "blob_refs")}


def test_models_and_shared_ddl_agree_and_a_difference_is_named(shop: Shop) -> None:
    names = ("leases", "blob_refs", "outbox", "consumer_offsets", "fetch_hosts")
    shop.add("0001", "; ".join(f"op.execute(ddl({name!r}, 1))" for name in names))
    shop.add("0002", "op.execute(ddl('fetch_hosts', 2))")
    shop.migrate()
    metadata = sqlalchemy.MetaData()
    shared_tables.add_leases(metadata)
    shared_tables.add_blob_refs(metadata)
    shared_tables.add_outbox(metadata)
    shared_tables.add_consumer_offsets(metadata)
    shared_tables.add_fetch_hosts(metadata)
    with psycopg.connect(shop.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.of_another_schema (id int)")
    assert check_drift("shop", shop.dsn, "shop", metadata) == []
    metadata.tables["leases"].append_column(sqlalchemy.Column("forgotten", sqlalchemy.Text))
    [line] = check_drift("shop", shop.dsn, "shop", metadata)
    assert "add_column" in line
    assert "forgotten" in line


def test_each_revision_is_its_own_transaction(shop: Shop) -> None:
    shop.add("0001", "op.execute('CREATE TABLE a (id int)')")
    shop.add("0002", "op.execute('CREATE TABLE b (id int)'); op.execute('SELECT no_such_column')")
    with pytest.raises(sqlalchemy.exc.ProgrammingError, match="no_such_column"):
        shop.migrate()
    assert shop.version() == "0001"
    assert shop.query("SELECT tablename FROM pg_tables WHERE schemaname = 'shop' AND tablename IN ('a', 'b')") == [
        ("a",)
    ]


def test_pre_stops_before_post(shop: Shop) -> None:
    shop.add("0001", "op.execute('CREATE TABLE a (id int, old int)')")
    shop.migrate("pre")
    shop.add("0002", "op.execute('ALTER TABLE a ADD new int')")
    shop.add("0003", "op.execute('ALTER TABLE a DROP old')", phase="post")
    shop.migrate("pre")
    assert shop.version() == "0002"
    shop.migrate("pre")
    assert shop.version() == "0002"
    shop.migrate("post")
    assert shop.version() == "0003"


def test_pre_goes_all_the_way_in_an_empty_database(shop: Shop) -> None:
    shop.add("0001", "op.execute('CREATE TABLE a (id int, old int)')")
    shop.add("0002", "op.execute('ALTER TABLE a DROP old')", phase="post")
    shop.migrate("pre")
    assert shop.version() == "0002"


def test_pre_refuses_to_jump_over_an_unfinished_release(shop: Shop) -> None:
    shop.add("0001", "op.execute('CREATE TABLE a (id int, old int)')")
    shop.migrate()
    shop.add("0002", "op.execute('ALTER TABLE a DROP old')", phase="post")
    shop.add("0003", "op.execute('ALTER TABLE a ADD new int')")
    with pytest.raises(MigrationError, match=r"0003 \(pre\) waits behind 0002 \(post\).*--phase post"):
        shop.migrate("pre")
    assert shop.version() == "0001"


@pytest.mark.parametrize(
    ("dedented", "message"),
    [
        ("PHASE = 'later'", "PHASE is 'later', allowed are 'pre' and 'post'"),
        ("down_revision = None", "several heads"),
    ],
)
def test_a_wrong_history_is_refused_in_words(shop: Shop, dedented: str, message: str) -> None:
    shop.add("0001", "pass")
    shop.migrate()
    shop.add("0002", "pass")
    with (shop.folder / "shop/migrations/versions/0002.py").open("a") as file:
        file.write(dedent(dedented) + "\n")
    with pytest.raises(MigrationError, match=message):
        shop.migrate("pre")


def test_an_older_version_refuses_a_newer_database(shop: Shop) -> None:
    shop.add("0001", "pass")
    shop.add("0002", "pass")
    shop.migrate()
    (shop.folder / "shop/migrations/versions/0002.py").unlink()
    with pytest.raises(MigrationError, match=r"at revision 0002.*a newer version has migrated it"):
        shop.migrate()


def test_a_package_without_migrations_is_named(shop: Shop) -> None:
    with pytest.raises(MigrationError, match="classifeed_common has no folder migrations/versions"):
        migrate("classifeed_common", shop.dsn, "shop")


def test_concurrent_runs_wait_for_each_other_even_with_an_index_built_concurrently(shop: Shop) -> None:
    shop.add("0001", "op.execute('CREATE TABLE a (id int)')")
    shop.add(
        "0002",
        "ctx = op.get_context()\n"
        "    with ctx.autocommit_block():\n"
        "        op.execute('CREATE INDEX CONCURRENTLY a_id ON a (id)')",
    )
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(shop.migrate) for _ in range(4)]
    assert [run.exception() for run in runs] == [None] * 4
    assert shop.version() == "0002"


def test_a_schema_that_another_run_makes_at_the_same_moment_is_used(shop: Shop) -> None:
    shop.add("0001", "op.execute('CREATE TABLE a (id int)')")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE SCHEMA%' AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool, psycopg.connect(shop.dsn) as other:
        other.execute("CREATE SCHEMA shop")
        run = pool.submit(shop.migrate)
        deadline = time.monotonic() + 60
        while shop.query(waiting) == [(0,)] and time.monotonic() < deadline:
            time.sleep(0.01)
        other.commit()
        assert run.exception() is None
    assert shop.version() == "0001"


def test_a_migration_gives_up_on_a_locked_table_instead_of_queueing_traffic(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_common.db.migrations.run.LOCK_TIMEOUT_S", 1)
    shop.add("0001", "op.execute('CREATE TABLE a (id int)')")
    shop.migrate()
    shop.add("0002", "op.execute('ALTER TABLE a ADD b int')")
    with psycopg.connect(shop.dsn) as reader:
        reader.execute("SELECT * FROM shop.a")
        with pytest.raises(sqlalchemy.exc.OperationalError, match="lock timeout"):
            shop.migrate()
    shop.migrate()
    assert shop.version() == "0002"


def test_a_role_that_owns_its_schema_alone_can_migrate_it_and_read_no_other(shop: Shop) -> None:
    shop.add("0001", "op.execute('CREATE TABLE a (id int)')")
    role = f"r_{secrets.token_hex(6)}"
    with psycopg.connect(shop.dsn, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
        admin.execute(f"CREATE SCHEMA shop AUTHORIZATION {role}")
        admin.execute("CREATE SCHEMA foreign_shop CREATE TABLE things (id int)")
    own = make_conninfo(shop.dsn, user=role, password="secret")
    try:
        migrate("shop", own, "shop")
        with psycopg.connect(own) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM foreign_shop.things")
    finally:
        with psycopg.connect(shop.dsn, autocommit=True) as admin:
            admin.execute(f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")


def test_a_migration_whose_server_is_silent_ends(
    shop: Shop, postgres_proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_RESPONSE_LIMIT_S", 2.0)
    shop.dsn = postgres_proxy.dsn(shop.dsn)
    shop.add("0001", "op.execute('SELECT pg_sleep(1)')")
    with ThreadPoolExecutor() as threads:
        migrating = threads.submit(shop.migrate)
        while not shop.query("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
            assert not migrating.done()
        postgres_proxy.silence_existing()
        try:
            with pytest.raises(sqlalchemy.exc.OperationalError, match="no response within 2 s"):
                migrating.result(40)
        finally:
            postgres_proxy.cut_existing()  # the thread ends in any case
