from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed_common.db import Database, load_queries
from classifeed_common.db.migrations import check_drift, migrate
from classifeed_devkit.testing.plans import scanned_tables
from classifeed_receiver.domain.schemas import EpochState
from classifeed_receiver.store.tables import metadata

ROWS = 100_000
QUEUES, REGISTRY, SCANNING = (
    load_queries("classifeed_receiver.store", f"{module}.sql") for module in ("queues", "registry", "scanning")
)


async def test_models_and_migrations_agree(receiver_database: Database) -> None:
    found = check_drift("classifeed_receiver", receiver_database.dsn, receiver_database.schema, metadata)
    assert found == []


async def test_epochs_that_an_earlier_release_opened_are_abandoned_by_the_upgrade(receiver_database: Database) -> None:
    async with receiver_database.transaction() as tx:
        await tx.execute("INSERT INTO schemas VALUES ('offers', 1, 2, '', now()), ('offers', 2, 1, '', now())")
        await tx.execute("UPDATE alembic_version SET version_num = '20261121_1'")
        # Of later ones.
        await tx.execute("ALTER TABLE elements DROP COLUMN traceparent")
        await tx.execute("ALTER TABLE documents DROP COLUMN checksum")
    await asyncio.to_thread(migrate, "classifeed_receiver", receiver_database.dsn, receiver_database.schema)
    async with receiver_database.connection() as connection:
        states = await (await connection.execute("SELECT epoch, state FROM schemas ORDER BY epoch")).fetchall()
    assert states == [(1, EpochState.ACTIVE), (2, EpochState.RETIRED)]


@pytest.fixture
async def seeded(receiver_database: Database) -> Database:
    async with receiver_database.transaction() as tx:
        await tx.execute(
            """
            INSERT INTO documents
            SELECT 'offers', hashint8extended(n, 0), 'k' || n, 1, 1, now(), 1 + (n %% 50 = 0)::int, 0,
                   CASE WHEN n %% 20 = 0 THEN now() + n * interval '1 minute' END, now() - n * interval '1 minute',
                   '\\x00'
              FROM generate_series(1, %s) AS n
            """,
            [ROWS],
        )
        await tx.execute(
            """
            INSERT INTO elements
            SELECT 'offers', 1, n %% 64, n / 64 + 1, hashint8extended(n, 0), 'k' || n, 1, 1, now()
              FROM generate_series(1, %s) AS n
            """,
            [ROWS],
        )
        await tx.execute("INSERT INTO shards SELECT 'offers', 1, n, 2000, 0 FROM generate_series(0, 63) AS n")
    async with receiver_database.connection() as connection:
        await connection.execute("ANALYZE")
    return receiver_database


SHARDS = {"queues": [1] * 64, "shards": list(range(64)), "idxs": [10] * 64}
KEYS = {"hashes": list(range(500)), "pks": [f"k{n}" for n in range(500)]}
HOT: list[tuple[str, str, dict[str, Any]]] = [
    ("list_elements", QUEUES["list_elements"], {"limit": 100, "size_bytes": 1_000_000, **SHARDS}),
    ("list_shards", QUEUES["list_shards"], {}),
    ("list_ends", QUEUES["list_ends"], {"group": "search"}),
    (
        "refill",
        QUEUES["refill"],
        {"shard": 3, "after_hash": 3 << 58, "after_pk": "", "last_hash": (4 << 58) - 1, "limit": 100},
    ),
    ("trim_shard", QUEUES["trim_shard"], {"queue": 1, "shard": 3, "below": 50, "limit": 20}),
    ("forget_failed", QUEUES["forget_failed"], {"age_s": 60, "limit": 100}),
    ("list_trimmable", QUEUES["list_trimmable"], {"group_lifetime_s": 60}),
    ("list_unknown_cursors", QUEUES["list_unknown_cursors"], SHARDS),
    (
        "note_failures",
        QUEUES["note_failures"],
        {"queues": [1], "shards": [2], "idxs": [10], "pks": ["k"], "reasons": ["r"]},
    ),
    ("append_failed", QUEUES["append_failed"], {"queues": [1], "shards": [2], "idxs": [10], "count": 1}),
    (
        "scan_documents",
        SCANNING["scan_documents"],
        {
            "after_hash": 3 << 58,
            "after_pk": "",
            "last_hash": (4 << 58) - 1,
            "epoch": 1,
            "limit": 5000,
            "size_bytes": 10**6,
        },
    ),
    (
        "sum_digests",
        SCANNING["sum_digests"],
        {"shards": [3], "first_hashes": [3 << 58], "last_hashes": [(4 << 58) - 1], "epoch": 1},
    ),
    ("list_documents", SCANNING["list_documents"], {"after_hash": 3 << 58, "after_pk": "", "limit": 1000}),
    ("list_failed", SCANNING["list_failed"], {"shards": [3], "epoch": 1}),
    ("trace_elements", REGISTRY["trace_elements"], {"shards": [2], "idxs": [10], "traceparents": ["t"]}),
    ("list_stored", REGISTRY["list_stored"], KEYS),
    ("count_damaged", REGISTRY["count_damaged"], {"keys": 5, "bound": 10_000}),
    ("expire_documents", REGISTRY["expire_documents"], {"count": 500, **KEYS}),
    ("select_expired", REGISTRY["select_expired"], {"limit": 100}),
    ("delete_tombstones", REGISTRY["delete_tombstones"], {"age_s": 86400 * 10, "limit": 100}),
    ("count_expired", REGISTRY["count_expired"], {"bound": 1000}),
]


async def test_no_hot_query_scans_a_large_table(seeded: Database) -> None:
    async with seeded.transaction() as tx:
        scanned = {name: await scanned_tables(tx, sql, {"client": "offers", **given}) for name, sql, given in HOT}
    assert {name: tables for name, tables in scanned.items() if tables & {"documents", "elements"}} == {}
