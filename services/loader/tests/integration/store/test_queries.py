"""No hot query scans a table that grows with the feeds and their fetches."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_common.db import Database, load_queries
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.plans import explain, scanned_tables

FETCH = {"seller_id": "s7", "namespace": "default", "fetch_id": 77}
NAMESPACES = {"seller_ids": ["s7", "s8"], "namespaces": ["default", "default"]}
PUT = NAMESPACES | {
    "feed_versions": [9, 9], "statuses": [1, 1], "urls": ["u", "u"], "credentials": [b"", b""],
    "intervals_s": [1.0, 1.0], "modes": [1, 1], "dispositions": [1, 1], "formats": ["", ""], "currencies": ["", ""],
    "active": 1, "min_interval_s": 600.0,
}  # fmt: skip
REQUEST = FETCH | {"feed_version": 1, "request": 2, "queued": 1, "forced": False, "request_id": "r"}
HOT: list[tuple[str, str, dict[str, Any]]] = [
    ("sources.sql", "put_sources", PUT),
    ("sources.sql", "known_versions", NAMESPACES),
    ("sources.sql", "find_source", FETCH),
    ("sources.sql", "list_states", NAMESPACES),
    ("sources.sql", "list_sources", FETCH | {"removed": 3, "limit": 500}),
    ("queueing.sql", "queue_due", {"schedule": 1, "queued": 1, "limit": 200, "min_interval_s": 600.0}),
    ("queueing.sql", "next_due", {}),
    ("queueing.sql", "count_due", {"limit": 1000}),
    ("queueing.sql", "insert_request", REQUEST),
    ("queueing.sql", "find_request", REQUEST),
    ("reading.sql", "find_fetch", FETCH),
    ("reading.sql", "list_fetches", FETCH | {"before": 1 << 60, "limit": 51}),
    ("fetching.sql", "lock_source", FETCH),
    ("fetching.sql", "find_fetch", FETCH),
    ("fetching.sql", "begin_fetch", FETCH | {"running": 2}),
    ("fetching.sql", "note_success", FETCH | {"min_interval_s": 600.0}),
    ("fetching.sql", "make_due", FETCH),
    ("fetching.sql", "list_old", FETCH | {"kept": 200, "limit": 20, "loaded": 3}),
    ("fetching.sql", "delete_fetch", FETCH),
]


SOURCES = 20_000


@pytest.fixture
async def seeded(migrated_database: MigratedDatabase) -> Database:
    database = await migrated_database("classifeed_loader", "loader")
    async with database.transaction() as tx:
        await tx.execute(
            """
            INSERT INTO feed_loader_task (seller_id, namespace, feed_version, status, url, sealed_credentials,
                                          interval_s, mode, disposition, format, last_fetched_at, next_due_at)
            SELECT 's' || n, 'default', 1, 1, 'http://shop.test/' || n, '', 3600, 1, 1, '', now(),
                   now() + (n - 500) * interval '1 second'
            FROM generate_series(1, %s) n
            """,
            [SOURCES],
        )
        await tx.execute(
            """
            INSERT INTO feed_fetches (seller_id, namespace, feed_version, trigger, outcome, slot_at, ended_at)
            SELECT 's' || n, 'default', 1, 1, 3, now() - f * interval '1 hour', now()
            FROM generate_series(1, %s) n, generate_series(1, 4) f
            """,
            [SOURCES],
        )
    async with database.connection() as connection:
        await connection.execute("ANALYZE")
    return database


def statement(file: str, name: str) -> str:
    return load_queries("classifeed_loader.store", file)[name]


async def test_hot_statements_go_by_an_index(seeded: Database) -> None:
    async with seeded.transaction() as tx:
        scanned = {name: await scanned_tables(tx, statement(file, name), given) for file, name, given in HOT}
    assert {name: tables for name, tables in scanned.items() if tables} == {}


async def test_the_schedule_reads_what_is_due_in_its_order(seeded: Database) -> None:
    """The query scans a range of the index and sorts nothing."""
    [parameters] = [parameters for _, name, parameters in HOT if name == "queue_due"]
    async with seeded.transaction() as tx:
        found = await explain(tx, statement("queueing.sql", "queue_due"), parameters)
    [taking] = [node for node in found if node["Node Type"] == "LockRows"]
    [scan] = taking["Plans"]
    assert scan["Index Name"] == "feed_loader_task_due"
    assert "next_due_at" in scan["Index Cond"]
