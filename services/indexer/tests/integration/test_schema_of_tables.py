from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from classifeed_common.db import Database, load_queries
from classifeed_common.db.migrations import check_drift
from classifeed_devkit.testing.plans import scanned_tables
from classifeed_indexer.domain.shards import lease_names
from classifeed_indexer.store.tables import metadata


async def test_models_and_migrations_agree(indexer_database: Database) -> None:
    found = check_drift("classifeed_indexer", indexer_database.dsn, indexer_database.schema, metadata)
    assert found == []


async def test_no_hot_query_scans_a_large_table(indexer_database: Database) -> None:
    """Make tables of a hundred groups and clients, so that a full scan would show."""
    async with indexer_database.transaction() as tx:
        await tx.execute(
            """
            INSERT INTO offsets
            SELECT 'g' || g, 'c' || c, q, s, 1, now()
              FROM generate_series(1, 10) AS g, generate_series(1, 20) AS c, generate_series(1, 2) AS q,
                   generate_series(0, 63) AS s
            """
        )
        await tx.execute(
            """
            INSERT INTO leases
            SELECT 'g' || g || '/c' || c || '/' || lpad(s::text, 2, '0'), 'h', 1, now() + interval '1 hour'
              FROM generate_series(1, 10) AS g, generate_series(1, 20) AS c, generate_series(0, 63) AS s
            """
        )
        await tx.execute(
            """
            INSERT INTO refills
            SELECT 'g' || g, 'c' || c, s, 'test', now()
              FROM generate_series(1, 10) AS g, generate_series(1, 20) AS c, generate_series(0, 63) AS s
            """
        )
    names = lease_names("g1", ["c1"])
    few = names[:8]
    group = {"group": "g1", "client": "c1"}
    refill = {**group, "shard": 3, "requested_at": datetime.now(UTC)}
    moves = {"queues": [1] * 8, "shards": list(range(8)), "expected": [1] * 8, "idxs": [2] * 8}
    hot: dict[str, dict[str, Any]] = {
        "add_offsets": {**group, "shard": 3, "queues": [1, 2]},
        "list_offsets": group,
        "hold_leases": {"names": few, "holders": ["h"] * 8, "fences": [1] * 8},
        "move_offsets": {**group, **moves},
        "list_holders": {"names": names},
        "reposition": {**group, "queue": 1, "shard": 3, "expected": 1, "idx": 2},
        "request_refills": {**group, "shards": [3], "reason": "test"},
        "list_refills": group,
        "advance_refill": {
            **refill,
            "after_hash": 1,
            "after_pk": "a",
            "last_idx": 1,
            "documents": 1,
            "is_scanned": False,
        },
        "finish_refill": refill,
    }
    files = ("offsets.sql", "refills.sql", "holding.sql")
    statements = {name: sql for file in files for name, sql in load_queries("classifeed_indexer.store", file).items()}
    assert hot.keys() == statements.keys()
    async with indexer_database.connection() as connection:
        await connection.execute("ANALYZE")
        for name, parameters in hot.items():
            assert await scanned_tables(connection, statements[name], parameters) == set(), name
