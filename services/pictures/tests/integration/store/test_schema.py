"""Declared tables match migrated ones, and no hot query scans a table or slows down as it grows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from hashlib import md5
from types import ModuleType
from typing import Any

from classifeed_common.db import Queries, Tx, load_queries
from classifeed_common.db.migrations import check_drift
from classifeed_devkit.testing.plans import Hot, list_costly, scanned_tables
from classifeed_pictures.store.files import namespaces, orphans, stored
from classifeed_pictures.store.states import requests, settled, similar, states
from classifeed_pictures.store.tables import metadata

ROWS = 20_000
BATCH = 50
# Pages that a statement may read: some per row, with room for the heap pages of an index.
_MOST = 12 * BATCH + 200
SEED = """
INSERT INTO pictures (url_hash, url, holdings, next_attempt_at)
SELECT decode(md5(n::text), 'hex'), n::text, '', CASE WHEN n %% 1000 = 0 THEN now() - interval '1 s' END
FROM generate_series(%(first)s::integer, %(last)s::integer) n
"""
REQUESTS = """
INSERT INTO requests_in_flight (url_hash, namespace, recipient, reference, requested_url, requested_at,
                                reported_attempt)
SELECT decode(md5(n::text), 'hex'), 'offers', 'seller', n::text, 'u', now(), n %% 10
FROM generate_series(%(first)s::integer, %(last)s::integer) n
"""
STORED = """
INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info,
                             pieces, similarity_key)
SELECT 'offers', n %% 100, n::text, decode(md5(n::text), 'hex'), 1, '', 1, 1, '', '[]',
       ('x' || left(md5(n::text), 16))::bit(64)::bigint
FROM generate_series(%(first)s::integer, %(last)s::integer) n
"""
SETTLED = """
INSERT INTO settled_requests (url_hash, request_hash, namespace, recipient, reference, requested_url)
SELECT decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'), 'offers', 'seller', n::text, 'u'
FROM generate_series(%(first)s::integer, %(last)s::integer) n
"""
SEEDS = (SEED, REQUESTS, STORED, SETTLED)
HASHES = [md5(str(n).encode(), usedforsecurity=False).digest() for n in range(101, 101 + BATCH)]
NOW = datetime.now(UTC)
PLACES = {"url_hashes": HASHES, "namespaces": ["offers"] * BATCH}
SETTLED_REQUESTS = PLACES | {
    "request_hashes": HASHES,
    "recipients": ["seller"] * BATCH,
    "references": ["1"] * BATCH,
    "requested_urls": ["u"] * BATCH,
    "clients": ["offers"] * BATCH,
}
STATE = {
    "url_hashes": HASHES,
    "are_put": [False] * BATCH,
    "attempts": [1] * BATCH,
    "attempts_at": [NOW] * BATCH,
    "next_attempts_at": [NOW] * BATCH,
    "failed_attempts": [0] * BATCH,
    "failures": [b""] * BATCH,
    "retries_at": [NOW] * BATCH,
    "delete_marks_at": [NOW] * BATCH,
    "requests_at": [NOW] * BATCH,
    "refreshes_at": [NOW] * BATCH,
    "holdings": [b""] * BATCH,
}
KEYS = [int.from_bytes(each[:8], "big", signed=True) for each in HASHES]
PAGE = {
    "key": KEYS[0], "url_hash": HASHES[0], "namespace": "", "after_distance": -1, "after_namespace": "",
    "after_group": 0, "after_name": "", "limit": BATCH,
}  # fmt: skip
ADDRESS = {"namespace": "offers", "group_id": 1, "name": "1"}


def sql_of(module: ModuleType) -> Queries:
    """Return the statements of a module of the store."""
    package, _, name = module.__name__.rpartition(".")
    return load_queries(package, f"{name}.sql")


# Never prepared, so that each is planned for the length of its arrays.
STATEMENTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "list_states": (sql_of(states), {"url_hashes": HASHES}),
    "lock_revisions": (sql_of(states), {"url_hashes": HASHES}),
    "update_states": (sql_of(states), STATE),
    "delete_states": (sql_of(states), {"url_hashes": HASHES}),
    "list_due": (sql_of(states), {"after_at": datetime(2020, 1, 1, tzinfo=UTC), "after_hash": b"", "limit": BATCH}),
    "take_stored": (sql_of(requests), PLACES),
    "report_failed": (sql_of(requests), PLACES | {"attempts": [1] * BATCH}),
    "forget_namespaces": (sql_of(requests), PLACES),
    "forget_all": (sql_of(requests), {"url_hashes": HASHES}),
    "add_settled": (sql_of(settled), SETTLED_REQUESTS),
    "list_settled": (sql_of(settled), PLACES),
    "list_recipients": (sql_of(settled), {"url_hashes": HASHES, "nobody": "-"}),
    "end_given_up": (sql_of(settled), PLACES | {"recipients": ["seller"] * BATCH}),
    "forget_settled_namespaces": (sql_of(settled), PLACES),
    "forget_all_settled": (sql_of(settled), {"url_hashes": HASHES}),
    "count_in_flight": (sql_of(requests), {"url_hashes": HASHES}),
    "list_after": (sql_of(orphans), ADDRESS | {"grace_s": 86400, "limit": BATCH}),
    "share_states": (sql_of(orphans), {"url_hashes": HASHES}),
    "lock_orphans": (
        sql_of(orphans),
        {
            "namespaces": ["offers"] * BATCH,
            "group_ids": [n % 100 for n in range(101, 101 + BATCH)],
            "names": [str(n) for n in range(101, 101 + BATCH)],
            "attempts": [1] * BATCH,
            "grace_s": 86400,
        },
    ),
    "find_stored": (sql_of(stored), ADDRESS),
    "lock_stored": (sql_of(stored), ADDRESS),
    "delete_stored": (sql_of(stored), ADDRESS | {"attempt": 1}),
    "list_keys": (sql_of(similar), similar.key_parameters(KEYS[0], 10)),
    "list_similar": (sql_of(similar), PAGE | {"keys": KEYS}),
    "list_similar_of_urls": (sql_of(similar), PAGE | {"url_hashes": HASHES, "distance": 10}),
    "lock_without_key": (sql_of(similar), {"namespace": "", "group_id": -1, "name": "", "limit": BATCH}),
    "find_namespace": (sql_of(namespaces), {"name": "offers"}),
}
_OF_JOBS = (sql_of(stored), sql_of(orphans), sql_of(similar))
PROCESSING = {name for name, (queries, _) in STATEMENTS.items() if queries not in _OF_JOBS} - {"list_due"}
SIMILAR = {"list_keys", "list_similar", "list_similar_of_urls"}
PREPARED = {"find_stored", "lock_stored", "delete_stored", "find_namespace"}


async def test_tables_are_as_declared(migrated_database: Callable[..., Any]) -> None:
    database = await migrated_database("classifeed_pictures")
    assert check_drift("classifeed_pictures", database.dsn, database.schema, metadata) == []


async def test_what_is_read_does_not_grow_with_the_table(migrated_database: Callable[..., Any]) -> None:
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        for seed in SEEDS:
            await tx.execute(seed, {"first": 1, "last": 100})
        await tx.execute("ANALYZE pictures, requests_in_flight, stored_pictures, settled_requests")
        for seed in SEEDS:
            await tx.execute(seed, {"first": 101, "last": ROWS})
        statements = {
            name: Hot(queries[name], given, _MOST, is_prepared=name in PREPARED, before=_settings_of(name))
            for name, (queries, given) in STATEMENTS.items()
        }
        assert await list_costly(tx, statements) == {}


def _settings_of(name: str) -> Callable[[Tx], Awaitable[None]] | None:
    async def of_similar(tx: Tx) -> None:
        await tx.execute(sql_of(similar)["forbid_scans"])

    if name in PROCESSING:
        return states.forbid_scans
    return of_similar if name in SIMILAR else None


async def test_the_oldest_request_is_found_by_an_index(migrated_database: Callable[..., Any]) -> None:
    database = await migrated_database("classifeed_pictures")
    async with database.connection() as connection:
        await connection.execute(REQUESTS, {"first": 1, "last": ROWS})
        await connection.execute("ANALYZE requests_in_flight")
        assert await scanned_tables(connection, sql_of(requests)["read_oldest"], {}) == set()
