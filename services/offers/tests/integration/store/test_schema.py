"""The declared tables equal the migrated ones, and no hot query scans."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from classifeed_common.db import Database
from classifeed_common.db.migrations import check_drift
from classifeed_devkit.testing.plans import explain, scanned_tables
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import Loss
from classifeed_offers.domain.offers import Namespace, Run
from classifeed_offers.store import applying, judging, picturing, publishing, reading, republishing, sweeping, waiting
from classifeed_offers.store.sweeping import Plan
from classifeed_offers.store.tables import metadata

SEED = """
INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id,
                    last_change, moderation, version, published_version)
SELECT 'seller' || n % 20, 'default', 'id' || n, '\\x00', decode(md5(n::text), 'hex'), 'FEED', 'ACTIVE', 1, 'ADDED', '',
       n, CASE WHEN n % 1000 = 0 THEN 0 ELSE n END
FROM generate_series(1, 40000) n;
INSERT INTO task_heads SELECT 'seller' || n, 'default', 1, 1 FROM generate_series(1, 2000) n;
INSERT INTO applied_batches
SELECT 'seller' || n % 20, 'default', n / 1000, 1, n, '\\x00', NULL FROM generate_series(1, 20000) n;
INSERT INTO task_ends (seller_id, namespace, task_id, run, batch_count, disposition)
SELECT 'seller' || n % 20, 'default', n, 1, 1, 'DELETE' FROM generate_series(1, 5000) n;
INSERT INTO namespace_sizes SELECT 'seller' || n, 'default', '2026-01-01', 1 FROM generate_series(1, 5000) n;
INSERT INTO sweep_slices SELECT 'seller' || n % 20, 'default', 1, 1, n, '{1}' FROM generate_series(1, 5000) n;
INSERT INTO waiting_changes
SELECT seller_id, namespace, offer_id, 1, 1, '', '', '', 'ACTIVE', 'UPDATED', '', 10, false FROM offers;
ANALYZE;
"""

Query = tuple[Mapping[str, str], dict[str, Any]]
"""The statements of a store, and parameters of one."""

RUN: dict[str, Any] = {"seller": "seller1", "namespace": "default", "task": 1, "run": 1}
COLUMNS: dict[str, Any] = {"sellers": ["seller1"], "namespaces": ["default"], "tasks": [1], "runs": [1], "batches": [1]}
IDS = [f"id{n}" for n in range(1, 2001)]
STATES: dict[str, Any] = {
    "offer_ids": list(range(1, 501)),
    "contents": [b"x"] * 500,
    "hashes": [b"x" * 16] * 500,
    "origins": ["FEED"] * 500,
    "statuses": ["ACTIVE"] * 500,
    "tasks": [1] * 500,
    "changes": ["UPDATED"] * 500,
    "moderations": ["setting"] * 500,
    "text_hashes": [b"x" * 16] * 500,
    "approved_text_hashes": [None] * 500,
    "bans": [None] * 500,
    "published_contents": [None] * 500,
    "are_requested": [True] * 500,
    "pictures": [None] * 500,
    "picture_faults": [None] * 500,
    "await_pictures": [True] * 500,
    "ordinals": [1] * 500,
    "lines": [1] * 500,
}
PICTURES = {name: STATES[name] for name in ("offer_ids", "pictures", "picture_faults", "await_pictures")}
APPLYING = {
    "lock_heads": COLUMNS,
    "move_heads": COLUMNS | {"traces": [None]},
    "find_applied": COLUMNS,
    "find_ended": COLUMNS,
    "load_offers": RUN | {"external_ids": IDS},
    "update_offers": STATES,
    "list_batches": RUN,
}
MAKING = {"make_changes": RUN | {"limit": 1000}}
SLICE = {"seller_id": "seller1", "namespace": "default", "limit": 500}
HOT: dict[str, Query] = {
    "lock_end": (sweeping._SQL, RUN),
    "plan_slices": (sweeping._SQL, RUN | {"slice_size": 1000, "with_manual": False}),
    "count_swept_before": (sweeping._SQL, RUN),
    "take_slice": (sweeping._SQL, RUN),
    "remove_offers": (sweeping._SQL, {"task": 1, "offer_ids": list(range(1, 1001)), "with_manual": False}),
    "make_manual": (sweeping._SQL, {"task": 1, "offer_ids": list(range(1, 1001))}),
    "count_swept": (sweeping._SQL, RUN | {"removed": 1, "made_manual": 0}),
    "finish_end": (sweeping._SQL, RUN | {"outcome": "COMPLETED", "kept": 0, "dropped": 0}),
    "hold_end": (sweeping._SQL, RUN | {"hold": b""}),
    "decide_end": (sweeping._SQL, RUN | {"decision": "CONFIRM"}),
    "forget_sizes": (sweeping._SQL, RUN),
    "count_lacking": (sweeping._SQL, RUN),
    "count_shown": (sweeping._SQL, RUN | {"accepted_task": 0, "accepted_at": None}),
    "sample_lacking": (sweeping._SQL, RUN | {"accepted_task": 0, "limit": 10}),
    "find_renamed": (sweeping._SQL, RUN | {"accepted_task": 0} | sweeping._COMPARED),
    "load_contents": (waiting._SQL, {"offer_ids": list(range(1, 301))}),
    "find_available": (waiting._SQL, COLUMNS),
    "count_waiting": (waiting._SQL, RUN | {"factor": 5}),
    "sum_batches": (waiting._SQL, RUN),
    "find_middle": (waiting._SQL, RUN | {"factor": 5}),
    "sample_moved": (waiting._SQL, RUN | {"factor": 5, "limit": 10}),
    "drop_slices": (sweeping._SQL, RUN),
    "drop_seen": (sweeping._SQL, RUN),
    "get_offer": (reading._SQL, RUN | {"external_id": "id1"}),
    "list_offers": (reading._SQL, RUN | {"after": "id1", "status": None, "limit": 100}),
    "select_due": (publishing._SQL, {"limit": 500, "above": 0}),
    "advance": (publishing._SQL, {"offer_ids": list(range(1, 501)), "versions": [10**6] * 500}),
    "select_traces": (publishing._SQL, {"sellers": ["seller1"], "namespaces": ["default"], "age_s": 3600}),
    "raise_versions": (
        publishing._SQL,
        {"offer_ids": list(range(1, 501)), "versions": [10**6] * 500, "stored": [10**6] * 500},
    ),
    "reset_slice": (
        republishing._SQL,
        {
            "seller_id": "seller1",
            "namespace": "default",
            "external_id": "id1",
            "only_seller": "seller1",
            "only_namespace": None,
            "limit": 1000,
        },
    ),
    "reset_offer": (republishing._SQL, {"offer_id": 5}),
    "find_unanswered": (judging._SQL, {"wait_s": 900, "limit": 100}),
    "request_again": (judging._SQL, RUN | {"external_ids": IDS[:100], "wait_s": 900}),
    "request_at_once": (judging._SQL, RUN | {"external_ids": IDS[:100], "since": datetime(2026, 1, 1, tzinfo=UTC)}),
    "load_decided": (judging._SQL, RUN | {"external_ids": IDS[:100], "since": datetime(2026, 1, 1, tzinfo=UTC)}),
    "list_decided": (
        judging._SQL,
        {
            "seller_id": "seller1",
            "namespace": "default",
            "external_id": "id1",
            "since": datetime(2026, 1, 1, tzinfo=UTC),
            "limit": 1000,
        },
    ),
    "count_unanswered": (judging._SQL, {}),
    "find_awaited": (picturing._SQL, {"wait_s": 7200, "limit": 100}),
    "count_awaited": (picturing._SQL, {}),
    "next_offers": (picturing._SQL, SLICE | {"after": "id1", "again": True}),
    "next_namespaces": (picturing._SQL, SLICE | {"only_seller": None}),
    "next_pictures": (reading._SQL, {"after": 20_000, "limit": 1000}),
}


# Queries without scans, in addition to those of `applying`.
JUDGING: dict[str, Query] = {
    "apply_outcomes": (
        judging._SQL,
        RUN
        | {
            "external_ids": IDS[:100],
            "text_hashes": [b"x" * 16] * 100,
            "bans": [None] * 100,
            "decided_at": [datetime(2026, 1, 1, tzinfo=UTC)] * 100,
            "moderation": "moderation",
        },
    ),
    "load_pictures": (picturing._SQL, RUN | {"external_ids": IDS[:100], "wait_s": 0}),
    "save_results": (picturing._SQL, PICTURES | {"are_shown": [True] * 500}),
    "save_requests": (picturing._SQL, PICTURES),
}


async def test_models_and_migrations_agree(database: Database) -> None:
    assert check_drift("classifeed_offers", database.dsn, database.schema, metadata) == []


async def test_no_hot_query_scans_a_table(database: Database) -> None:
    async with database.transaction() as tx:
        for statement in SEED.split(";\n"):
            await tx.execute(statement or "SELECT 1")
        scanned = {name: await scanned_tables(tx, queries[name], given) for name, (queries, given) in HOT.items()}
        await applying.forbid_scans(tx)
        scanned |= {name: await scanned_tables(tx, applying._SQL[name], given) for name, given in APPLYING.items()}
        scanned |= {name: await scanned_tables(tx, waiting._SQL[name], given) for name, given in MAKING.items()}
        scanned |= {name: await scanned_tables(tx, queries[name], given) for name, (queries, given) in JUDGING.items()}
    assert {name: tables for name, tables in scanned.items() if tables} == {}


async def test_texts_that_wait_for_less_than_the_limit_are_not_read(database: Database) -> None:
    # Fails with clock_timestamp() in the condition: each poll would read a million waiting texts.
    async with database.transaction() as tx:
        for statement in SEED.split(";\n"):
            await tx.execute(statement or "SELECT 1")
        await tx.execute("UPDATE offers SET text_requested_at = clock_timestamp()")
        await tx.execute("ANALYZE offers")
        nodes = await explain(tx, judging._SQL["find_unanswered"], {"wait_s": 900, "limit": 100})
    [condition] = [node["Index Cond"] for node in nodes if node.get("Index Name") == "offers_texts_waiting"]
    assert "text_requested_at <" in condition


async def test_offers_that_wait_for_pictures_for_less_than_the_limit_are_not_read(database: Database) -> None:
    async with database.transaction() as tx:
        for statement in SEED.split(";\n"):
            await tx.execute(statement or "SELECT 1")
        await tx.execute("UPDATE offers SET pictures_requested_at = clock_timestamp()")
        await tx.execute("ANALYZE offers")
        nodes = await explain(tx, picturing._SQL["find_awaited"], {"wait_s": 7200, "limit": 100})
    [condition] = [node["Index Cond"] for node in nodes if node.get("Index Name") == "offers_pictures_waiting"]
    assert "pictures_requested_at <" in condition


@pytest.mark.parametrize("analysed", [False, True])
async def test_the_anti_join_is_never_quadratic(database: Database, analysed: bool) -> None:
    """Without statistics, NOT EXISTS becomes a nested loop, which takes far longer for 50,000 offers."""
    key = RunKey(Namespace("seller1", "default"), Run(2, 1))
    async with database.transaction() as tx:
        await tx.execute(SEED.split(";\n", maxsplit=1)[0].replace("n % 20", "1"))
        await tx.execute(
            "INSERT INTO applied_batches"
            " SELECT 'seller1', 'default', 2, 1, n, '\\x00',"
            " (SELECT array_agg(offer_id) FROM offers WHERE offer_id / 100 = n)"
            " FROM generate_series(0, 399) n"
        )
        if analysed:
            await tx.execute("ANALYZE")
        plan = await explain(
            tx, sweeping._SQL["plan_slices"], RUN | {"task": 2, "slice_size": 1000, "with_manual": False}
        )
        assert "Nested Loop" not in {node["Node Type"] for node in plan}
        await tx.execute("SET LOCAL statement_timeout = '30s'")
        loss = Loss(before=40000, lacking=1, unseen=1, most_before=0, is_empty=False)
        assert await sweeping.plan(tx, key) == Plan(loss, accepted_task=1, accepted_at=None)
