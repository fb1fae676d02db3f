"""A seller that came after the last ANALYZE, and plans that serve all parameters: nothing reads more than it needs."""

from __future__ import annotations

from hashlib import md5
from typing import Any

import pytest

from classifeed_common.testing.databases import MigratedDatabase
from classifeed_common.testing.plans import rows_handled
from classifeed_moderation.store import decisions, subjects

TEXTS = 20_000
BATCH = 50
_MOST_OTHERS = 1_000
# Texts of two sellers: one from before ANALYZE, one from after it.
SEED = """
INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, seller_id, namespace, external_id,
                      status, next_retry)
SELECT 'offer/' || %(seller)s || '/' || n, 'OFFER', 'text', decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'),
       '{}', %(seller)s, 'default', n, 'PENDING', clock_timestamp() - interval '1 s'
FROM generate_series(1, %(count)s) n
"""
CACHE = "INSERT INTO verdict_cache SELECT decode(md5(n::text), 'hex'), '[]' FROM generate_series(1, %(count)s) n"
KEYS = [f"offer/new/{n}" for n in range(1, BATCH + 1)]
HASHES = [md5(str(n).encode(), usedforsecurity=False).digest() for n in range(1, BATCH + 1)]
STATEMENTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "claim_due": (subjects.SQL, {"kind": "OFFER", "limit": BATCH, "retry_s": 60.0}),
    "claim_shares": (subjects.SQL, {"seller_ids": ["old", "new"], "share": BATCH // 2, "retry_s": 60.0}),
    "list_sellers": (subjects.SQL, {"after": "", "limit": 50}),
    "lock_keys": (subjects.SQL, {"subject_keys": KEYS}),
    "lock_subjects": (subjects.SQL, {"subject_keys": KEYS}),
    "leave": (
        subjects.SQL,
        {"subject_keys": KEYS, "text_hashes": HASHES, "sent_keys": KEYS, "cache_keys": HASHES, "pending_s": 600.0},
    ),
    "release_same": (subjects.SQL, {"cache_keys": HASHES, "subject_keys": KEYS}),
    "recheck": (subjects.SQL, {"subject_keys": KEYS}),
    "find_kept": (decisions.SQL, {"cache_keys": HASHES, "age_s": 60.0}),
    "find_decided": (subjects.SQL, {"subject_keys": KEYS, "text_hashes": HASHES}),
}


# Never prepared, so that they are planned for their limit each time.
UNPREPARED = {"claim_due", "claim_shares"}


@pytest.mark.parametrize(
    ("name", "is_generic"),
    [*((name, False) for name in STATEMENTS), *((name, True) for name in STATEMENTS if name not in UNPREPARED)],
)
async def test_what_is_read_does_not_grow_with_the_table(
    migrated_database: MigratedDatabase, name: str, is_generic: bool
) -> None:
    database = await migrated_database("classifeed_moderation")
    queries, given = STATEMENTS[name]
    async with database.transaction() as tx:
        # In one transaction, so that autovacuum sees nothing of it.
        await tx.execute(SEED, {"seller": "old", "count": 100})
        await tx.execute("ANALYZE subjects, verdict_cache")
        await tx.execute(SEED, {"seller": "new", "count": TEXTS})
        await tx.execute(CACHE, {"count": TEXTS})
        handled = await rows_handled(tx, queries[name], given, is_generic=is_generic)
    assert handled <= 10 * BATCH + _MOST_OTHERS
