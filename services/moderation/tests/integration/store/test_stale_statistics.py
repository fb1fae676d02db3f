"""With a seller newer than the last ANALYZE, and with generic plans, no query reads more than it needs."""

from __future__ import annotations

from hashlib import md5
from typing import Any

from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.plans import Hot, list_costly
from classifeed_moderation.store import decisions, subjects
from classifeed_moderation.store.offer_texts import _SQL as OFFER_TEXTS

TEXTS = 20_000
BATCH = 50
_MOST_OTHERS = 1_000
# Texts of two sellers: one from before ANALYZE, and one from after it.
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
    "claim_due": (subjects._SQL, {"kind": "OFFER", "limit": BATCH, "retry_s": 60.0}),
    "claim_shares": (subjects._SQL, {"seller_ids": ["old", "new"], "share": BATCH // 2, "retry_s": 60.0}),
    "list_sellers": (subjects._SQL, {"after": "", "limit": 50}),
    "lock_keys": (subjects._SQL, {"subject_keys": KEYS}),
    "lock_subjects": (subjects._SQL, {"subject_keys": KEYS}),
    "leave": (
        subjects._SQL,
        {"subject_keys": KEYS, "text_hashes": HASHES, "sent_keys": KEYS, "cache_keys": HASHES, "pending_s": 600.0},
    ),
    "release_same": (subjects._SQL, {"cache_keys": HASHES, "subject_keys": KEYS}),
    "recheck": (subjects._SQL, {"subject_keys": KEYS}),
    "list_kept": (decisions._SQL, {"cache_keys": HASHES, "age_s": 60.0}),
    "list_decided": (OFFER_TEXTS, {"subject_keys": KEYS, "text_hashes": HASHES}),
}


# Never prepared, so that each is planned for its limit.
UNPREPARED = {"claim_due", "claim_shares"}


async def test_what_is_read_does_not_grow_with_the_table(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_moderation")
    async with database.transaction() as tx:
        await tx.execute(SEED, {"seller": "old", "count": 100})
        await tx.execute("ANALYZE subjects, verdict_cache")
        await tx.execute(SEED, {"seller": "new", "count": TEXTS})
        await tx.execute(CACHE, {"count": TEXTS})
        statements = {
            name: Hot(queries[name], given, most=10 * BATCH + _MOST_OTHERS, is_prepared=name not in UNPREPARED)
            for name, (queries, given) in STATEMENTS.items()
        }
        assert await list_costly(tx, statements) == {}
