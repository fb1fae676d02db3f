"""With a seller newer than the last ANALYZE, the planner expects no rows, and a part of a key looks unique to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from classifeed_common.db import Database, Tx
from classifeed_devkit.testing.plans import Hot, list_costly, rows_scanned
from classifeed_offers.store import applying, judging, picturing, publishing, reading, waiting

from .test_schema import APPLYING, HOT, IDS, JUDGING, RUN, Query

OFFERS = 20_000
# Never prepared, so that each is planned for its arrays.
UNPREPARED = {"advance", "raise_versions"}
# In addition to the rows that a statement is about.
_MOST_OTHERS = 1_000

BEFORE = """
INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id,
                    last_change, moderation, version, published_version, text_hash)
SELECT 'before', 'default', 'id' || n, '\\x00', decode(md5(n::text), 'hex'), 'FEED', 'ACTIVE', 1, 'ADDED', '', n, n,
       decode(md5(n::text), 'hex')
FROM generate_series(1, 2000) n;
INSERT INTO task_heads VALUES ('before', 'default', 1, 1);
INSERT INTO applied_batches SELECT 'before', 'default', 1, 1, n, '\\x00', NULL FROM generate_series(1, 20) n;
INSERT INTO task_ends (seller_id, namespace, task_id, run, batch_count, disposition)
VALUES ('before', 'default', 1, 1, 1, 'DELETE');
ANALYZE
"""
SINCE = f"""
INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id,
                    last_change, moderation, version, text_hash, text_requested_at, pictures_requested_at)
SELECT 'seller1', 'default', 'id' || n, '\\x00', decode(md5(n::text), 'hex'), 'FEED', 'PENDING', 1, 'ADDED', '',
       1000000 + n, convert_to('xxxxxxxxxxxxxxxx', 'UTF8'), clock_timestamp() - interval '1 hour',
       clock_timestamp() - interval '3 hours'
FROM generate_series(1, {OFFERS}) n;
INSERT INTO applied_batches SELECT 'seller1', 'default', 1, 1, n, '\\x00', NULL FROM generate_series(1, {OFFERS}) n
"""
ABOUT_OFFERS: dict[str, Query] = {
    "load_offers": (applying._SQL, RUN | {"external_ids": IDS[:100]}),
    "load_offers_with_content": (applying._SQL, RUN | {"external_ids": IDS[:100]}),
    "update_offers": (applying._SQL, APPLYING["update_offers"]),
    "find_applied": (applying._SQL, APPLYING["find_applied"]),
    "find_ended": (applying._SQL, APPLYING["find_ended"]),
    "apply_outcomes": JUDGING["apply_outcomes"],
    "find_unanswered": HOT["find_unanswered"],
    "request_again": HOT["request_again"],
    "load_pictures": JUDGING["load_pictures"],
    "save_results": JUDGING["save_results"],
    "save_requests": JUDGING["save_requests"],
    "find_awaited": HOT["find_awaited"],
    "next_pictures": (reading._SQL, {"after": 0, "limit": 1000}),
    "get_offer": (reading._SQL, RUN | {"external_id": "id1"}),
    "list_offers": (reading._SQL, RUN | {"after": "id1", "status": None, "limit": 100}),
    "select_due": (publishing._SQL, {"limit": 500, "above": 0}),
    "advance": HOT["advance"],
    "raise_versions": HOT["raise_versions"],
    "load_contents": (waiting._SQL, {"offer_ids": list(range(1, 301))}),
}


async def test_what_is_read_does_not_grow_with_the_namespace(database: Database) -> None:
    """Fails if verdicts about 100 texts read all 20,000 offers of a namespace, or if marks of 500 offers are compared
    with one another from the sixth execution on.
    """
    statements = {
        name: Hot(
            queries[name],
            given,
            most=10 * _size_of(given) + _MOST_OTHERS,
            is_prepared=name not in UNPREPARED,
            before=applying.forbid_scans if queries in (applying._SQL, judging._SQL, picturing._SQL) else None,
        )
        for name, (queries, given) in ABOUT_OFFERS.items()
    }
    async with database.transaction() as tx:
        for statement in (BEFORE + ";" + SINCE).split(";\n"):
            await tx.execute(statement.strip(";\n "))
        assert await list_costly(tx, statements) == {}


def _size_of(given: Mapping[str, Any]) -> int:
    """Return the number of rows that a statement is about."""
    return max((len(value) for value in given.values() if isinstance(value, list)), default=given.get("limit", 1))


NOBODY_WAITS = f"""
INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id,
                    last_change, moderation, version, published_version, text_hash)
SELECT 'seller1', 'default', 'id' || n, '\\x00', decode(md5(n::text), 'hex'), 'FEED', 'ACTIVE', 1, 'ADDED', '', n, n,
       decode(md5(n::text), 'hex')
FROM generate_series(1, {OFFERS}) n
"""


@pytest.mark.parametrize("count", [picturing.count_awaited, judging.count_unanswered])
async def test_counts_read_no_offers_that_wait_for_nothing(
    database: Database, count: Callable[[Tx], Awaitable[object]]
) -> None:
    """Without statistics, the planner expects that each offer may wait, and reads the whole table."""
    async with database.transaction() as tx:
        await tx.execute(NOBODY_WAITS)
        await count(tx)
        assert await rows_scanned(tx, "offers") == 0
