"""The declared tables equal the migrated ones, and no hot query scans."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_common.db import load_queries
from classifeed_common.db.migrations import check_drift
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.plans import explain, scanned_tables
from classifeed_moderation.store import closings, decisions, rejudging, subjects
from classifeed_moderation.store.tables import metadata

SEED = """
INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, status, next_retry,
                      decided_by)
SELECT md5(n::text)::uuid::text, 'POINT', 'text', decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'), '{}',
       CASE WHEN n % 1000 = 0 THEN 'PENDING' ELSE 'APPROVED' END, CASE WHEN n % 1000 = 0 THEN now() END,
       CASE WHEN n % 1000 > 0 THEN 'RULE' END
FROM generate_series(1, 40000) n;
INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, seller_id, namespace, external_id,
                      status, next_retry)
SELECT 'offer/' || n, 'OFFER', 'text', decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'), '{}',
       'seller' || n % 200, 'default', n, 'PENDING', now() + n * interval '1 s'
FROM generate_series(1, 20000) n;
INSERT INTO points (point_id, author_id, author_role, tags, latitude, longitude, version, published_version)
SELECT md5(n::text)::uuid, 'a', 'USER', '{other}', n % 180 - 90, n % 360 - 180, n, n FROM generate_series(1, 40000) n;
INSERT INTO decisions (subject_key, kind, content_version, text_hash, region_ids, status, verdicts, rule, rule_set,
                       region_id, maker, is_automatic, is_applied, decided_at)
SELECT md5(n::text)::uuid::text, 'POINT', 1, '', '{}', 'APPROVED', '[]', '', '', 0, 'RULE', true, true, now()
FROM generate_series(1, 40000) n;
INSERT INTO closings SELECT md5(n::text), decode(md5(n::text), 'hex'), now(), now() + n * interval '1 s'
FROM generate_series(1, 40000) n;
INSERT INTO verdict_cache SELECT decode(md5(n::text), 'hex'), '[]' FROM generate_series(1, 40000) n;
"""


async def test_tables_are_as_declared(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_moderation")
    assert check_drift("classifeed_moderation", database.dsn, database.schema, metadata) == []


async def test_no_hot_query_scans(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_moderation")
    key = "c4ca4238-a0b9-2382-0dcc-509a6f75849b"
    hash_ = bytes.fromhex("c4ca4238a0b923820dcc509a6f75849b")
    appeals = load_queries("classifeed_moderation.store", "appeals.sql")
    hot: dict[str, dict[str, Any]] = {
        subjects._SQL["claim_due"]: {"kind": "POINT", "limit": 100, "retry_s": 60},
        subjects._SQL["list_sellers"]: {"after": "seller1", "limit": 50},
        subjects._SQL["claim_shares"]: {"seller_ids": ["seller1", "seller2"], "share": 5, "retry_s": 60},
        subjects._SQL["lock_keys"]: {"subject_keys": [key]},
        subjects._SQL["lock_subjects"]: {"subject_keys": [key]},
        subjects._SQL["find_subject"]: {"subject_key": key},
        subjects._SQL["release_same"]: {"cache_keys": [hash_], "subject_keys": [key]},
        subjects._SQL["leave"]: {
            "subject_keys": [key],
            "text_hashes": [hash_],
            "sent_keys": [key],
            "cache_keys": [hash_],
            "pending_s": 600,
        },
        closings._SQL["stop_texts"]: {"point_id": key},
        closings._SQL["remove_offer_texts"]: {"subject_keys": [key], "content_versions": [1]},
        closings._SQL["claim_closings"]: {"limit": 100, "retry_s": 60},
        closings._SQL["put_off_closings"]: {"sent_keys": [key], "noted_at": [None], "repeat_s": 600},
        subjects._SQL["count_waiting"]: {},
        subjects._SQL["lock_points"]: {"point_ids": [key]},
        decisions._SQL["list_times"]: {"decision_ids": [1]},
        decisions._SQL["list_lost"]: {"decision_ids": [1], "kept_days": 400},
        decisions._SQL["list_kept"]: {"cache_keys": [hash_], "age_s": 60},
        decisions._SQL["list_decisions"]: {"after": 0, "subject_key": key, "limit": 10},
        decisions._SQL["find_decision"]: {"decision_id": 1},
        rejudging._SQL["list_judged"]: {"after": key, "kind": None, "limit": 100},
        appeals["list_deciders"]: {"subject_key": key, "text_hash": hash_},
        appeals["list_outcomes"]: {"subject_key": key, "decision_id": 1},
        appeals["find_author"]: {"subject_key": key},
    }
    async with database.connection() as connection:
        await connection.execute(SEED)
        await connection.execute("ANALYZE subjects, points, decisions, closings, verdict_cache")
        for statement, parameters in hot.items():
            assert await scanned_tables(connection, statement, parameters) == set(), statement


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("claim_due", {"kind": "OFFER", "limit": 500, "retry_s": 60}),
        ("claim_shares", {"seller_ids": ["seller1", "seller2"], "share": 5, "retry_s": 60}),
    ],
)
async def test_claims_read_no_text_that_is_not_due(
    migrated_database: MigratedDatabase, name: str, parameters: dict[str, Any]
) -> None:
    # Fails with clock_timestamp() in the condition: each check would read a million texts that people have.
    database = await migrated_database("classifeed_moderation")
    async with database.connection() as connection:
        await connection.execute(SEED)
        await connection.execute("ANALYZE subjects")
        nodes = await explain(connection, subjects._SQL[name], parameters)
    [condition] = [
        node["Index Cond"] for node in nodes if node.get("Index Name", "") in {"subjects_due", "subjects_shares"}
    ]
    assert "statement_timestamp()" in condition
