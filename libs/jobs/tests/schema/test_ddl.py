"""The tables agree with their models, and no hot statement scans them, even with many other rows."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy
from psycopg import sql

from classifeed_common.db.migrations import check_drift
from classifeed_jobs import ddl
from classifeed_jobs.claim import delayed as due
from classifeed_jobs.claim import fetch as claiming
from classifeed_jobs.claim import finish as claims
from classifeed_jobs.claim import guard
from classifeed_jobs.claim.claim_cursor import ClaimCursor, Scan
from classifeed_jobs.claim.shares import UNLIMITED
from classifeed_jobs.enqueue import insert as enqueuing
from classifeed_jobs.enqueue import store
from classifeed_jobs.maintenance import housekeeping, reaper
from classifeed_jobs.schema import promotion
from classifeed_jobs.schema.ddl import VERSIONS
from classifeed_jobs.schema.tables import add_jobs
from classifeed_jobs.worker import process_lease as lease_row
from classifeed_jobs.worker.session import _SETTINGS

from ..conftest import Bench

_SEED = """
INSERT INTO dl_workers (worker_id, queues) SELECT 'w' || n, '{q}' FROM generate_series(1, 20) n;
INSERT INTO dl_jobs_done (job_id, queue, task, args, lock_key, priority, available_at, status, attempt, claim_no,
                          lease_ttl_sec, cancel_requested, created_at, finished_at)
SELECT dl_new_job_id(), 'q', 'noop', '{}', 'd ' || n % 5000, 100, now(),
       CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'succeeded' END, 1, 1, 60, false, now(), now()
FROM generate_series(1, 100000) n;
INSERT INTO dl_job_events (job_id, kind, attempt, claim_no) SELECT job_id, 'queued', 0, 0 FROM dl_jobs_done;
SET dl_jobs.notify = off;
INSERT INTO dl_jobs (queue, task, available_at, waits_for)
SELECT 'q', 'noop', now() + interval '1 day', 'time' FROM generate_series(1, 10000);
INSERT INTO dl_jobs (queue, task, lock_key, waits_for) SELECT 'q', 'noop', 'hot', 'key' FROM generate_series(1, 5000);
INSERT INTO dl_jobs (queue, task, status, claimed_by, attempt, claim_no)
SELECT 'q', 'noop', 'running', 'w' || (n % 20 + 1), 1, 1 FROM generate_series(1, 5000) n;
INSERT INTO dl_job_locks (lock_key, job_id, worker_id)
SELECT 'k' || n, gen_random_uuid(), 'w1' FROM generate_series(1, 5000) n;
INSERT INTO dl_job_keys
SELECT 'i' || n, gen_random_uuid(), '', now() + interval '1 day' FROM generate_series(1, 20000) n;
INSERT INTO dl_jobs (queue, task, partition_key) SELECT 'lanes', 'noop', 't ' || n % 1000
FROM generate_series(1, 20000) n;
INSERT INTO dl_jobs (queue, task, available_at, waits_for, made_by)
SELECT 'q', 'noop', now() + interval '1 day', 'time', 'operator' FROM generate_series(1, 12000);
INSERT INTO dl_jobs (queue, task, lock_key) SELECT 'q', 'noop', CASE WHEN n % 2 = 0 THEN 'k' || n END
FROM generate_series(1, 100) n;
ANALYZE;
"""

_FILLED = 400
_FILL = f"INSERT INTO dl_jobs (queue, task) SELECT 'q', 'noop' FROM generate_series(1, {_FILLED})"

# One row per process, or per queue with limits: a scan is intended.
# A person calls it rarely; an index for it would cost every job.
_MAY_SCAN = {("list_by_key", "dl_jobs")}
_FILTERS = ("queue", "status", "task", "lock_key", "partition_key", "producer", "consumer_group")
_SMALL = {"dl_workers", "dl_queues"}


def test_models_and_ddl_agree(database_dsn: str) -> None:
    import psycopg

    with psycopg.connect(database_dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA test")
        connection.execute("SET search_path = test")
        for version in VERSIONS:
            connection.execute(ddl(version))
    metadata = sqlalchemy.MetaData()
    add_jobs(metadata)
    assert check_drift("classifeed_jobs", database_dsn, "test", metadata) == []


def test_unknown_version_is_refused() -> None:
    with pytest.raises(LookupError, match="no DDL of version 99"):
        ddl(99)


def _parameters(worker_id: str, *, look: int, wanted: int) -> dict[str, Any]:
    return {
        "worker": worker_id,
        "queue": "q",
        "look": look,
        "wanted": wanted,
        "fresh_s": 9999,
        "is_permitted": False,
    }


def _ranges() -> dict[str, Any]:
    scan_cursor = ClaimCursor()
    scan_cursor.record(Scan({}, 60.0, [50, 100], [datetime(2026, 1, 1, tzinfo=UTC)] * 2, None, 2, is_filled=True))
    scan_cursor.promoted(100, datetime(2025, 1, 1, tzinfo=UTC))
    return scan_cursor.parameters()


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in _nodes(child))]


async def _explain(
    connection: Any, statement: str, parameters: dict[str, Any], *, generic: bool
) -> list[dict[str, Any]]:
    """Return the nodes of the plan that ran; the generic one as the worker's session has it, or one made for these
    values.
    """
    if not generic:
        explained = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement)
        rows = await (await connection.execute(explained, parameters)).fetchall()
    else:
        names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
        numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement)
        await connection.execute("DEALLOCATE ALL")
        await connection.execute("PREPARE tested AS " + numbered.replace("%", "%%"))
        values = sql.SQL(", ").join(sql.Literal(parameters[name]) for name in names)
        execute = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE tested ({})").format(values)
        rows = await (await connection.execute(execute)).fetchall()
    top = rows[0][0] if not isinstance(rows[0][0], str) else json.loads(rows[0][0])
    return _nodes(top[0]["Plan"])


@pytest.mark.slow
async def test_no_hot_statement_scans_a_table(bench: Bench) -> None:
    async with bench.db.dedicated_connection() as connection:
        await connection.execute(_SEED)
        queued = "SELECT job_id FROM dl_jobs WHERE waits_for = 'time' LIMIT 1"
        waiting = (await (await connection.execute(queued)).fetchall())[0][0]
        busy = "SELECT job_id FROM dl_jobs WHERE status = 'running' LIMIT 50"
        running = [row[0] for row in await (await connection.execute(busy)).fetchall()]
        count = len(running)
        ends = {
            "job_ids": running,
            "claim_nos": [1] * count,
            "outcomes": ["succeeded", "retry"] * (count // 2),
            "messages": [None] * count,
            "results": [None] * count,
            "delays_s": [1.0] * count,
            "progress": [None] * count,
            "max_faults": [5] * count,
            "notify": "on",
        }
        claim = _parameters("w1", look=100, wanted=20)
        fairly = {"above": claiming._ABOVE_ALL, "after_partition": "t 500", "per_partition": 3, "queue": "lanes"}
        shared = {"free": 100, "held_keys": ["t 501", "t 7"], "held": [100, 3], "unpartitioned_held": 2}
        by_worker: dict[str, tuple[str, dict[str, Any], int]] = {
            "claim": (claiming._CLAIM, claim, 4000),
            "claim_plain": (claiming._CLAIM_PLAIN, claim, 4000),
            "claim_from_floors": (claiming._CLAIM_FROM_CURSOR, claim | _ranges(), 4000),
            "claim_plain_from_floors": (claiming._CLAIM_PLAIN_FROM_CURSOR, claim | _ranges(), 4000),
            "claim_fairly": (claiming._CLAIM_FAIRLY, claim | fairly | dict(UNLIMITED), 5000),
            "claim_shared": (claiming._CLAIM_FAIRLY, claim | fairly | shared, 5000),
            "promote_due": (due._PROMOTE_DUE, {"queues": ["q"], "limit": 1000, "since": "-infinity"}, 50),
            "next_due": (due._NEXT_DUE, {"queues": ["q"], "since": "-infinity"}, 50),
            "held": (lease_row._HELD, {"worker": "w1"}, 1500),
            "held_of": (lease_row._HELD_OF, {"job_ids": running}, 500),
            "renew": (lease_row._RENEW, {"worker": "w1"}, 50),
        }
        by_pool: dict[str, tuple[str, dict[str, Any], int]] = {
            "end": (claims._END, ends, 3500),
            "finish": (claims._FINISH, ends | {"outcomes": ["succeeded"] * count}, 3500),
            "promote_next": (promotion._PROMOTE_NEXT, {"lock_keys": ["hot", "k1"]}, 100),
            "guard": (guard._GUARD, {"job_id": running[0], "claim_no": 1}, 50),
            "lock_lost": (
                reaper._LOCK_LOST,
                {"limit": 500, "tasks": ["other"], "is_hooked": False, "without": []},
                200,
            ),
            "lock_lost_with_hook": (
                reaper._LOCK_LOST,
                {"limit": 1, "tasks": ["noop"], "is_hooked": True, "without": [waiting]},
                200,
            ),
            "next_expiry": (reaper._NEXT_EXPIRY, {}, 200),
            "forget_keys": (housekeeping._FORGET_KEYS, {"limit": 500}, 50),
            "count_made_by": (store._COUNT_MADE_BY, {"made_by": "operator", "limit": 10_000}, 300),
            "find_key": (enqueuing._FIND_KEY, {"idempotency_key": "i7"}, 50),
            "get": (store._GET, {"job_id": waiting, "is_brief": False}, 50),
            "list": (
                store._LIST,
                dict.fromkeys(_FILTERS) | {"after": None, "limit": 50, "is_brief": False},
                600,
            ),
            "list_by_key": (
                store._LIST,
                dict.fromkeys(_FILTERS) | {"after": None, "limit": 50, "is_brief": False, "lock_key": "d 77"},
                2500,
            ),
            "retry": (
                store._RETRY,
                dict.fromkeys(_FILTERS)
                | {"statuses": ["failed"], "job_id": None, "error": None}
                | dict.fromkeys(("since", "until", "after"))
                | {"limit": 100, "note": None, "is_dry": False},
                4000,
            ),
            "events": (store._EVENTS, {"job_id": waiting, "after": 0, "limit": 100}, 50),
            "cancel": (store._CANCEL, {"job_id": waiting, "payload": None}, 200),
        }
        for name, (statement, parameters, limit) in by_pool.items():
            await _check_plan(connection, name, statement, parameters, limit, generic=False)
        for setting in _SETTINGS:
            await connection.execute(setting)
        for name, (statement, parameters, limit) in by_worker.items():
            await _check_plan(connection, name, statement, parameters, limit, generic=True)


async def _check_plan(
    connection: Any, name: str, statement: str, parameters: dict[str, Any], limit: int, *, generic: bool
) -> None:
    async with connection.transaction(force_rollback=True):
        nodes = await _explain(connection, statement, parameters, generic=generic)
    scans = [
        f"{node['Node Type']} on {node['Relation Name']}"
        for node in nodes
        if node["Node Type"] == "Seq Scan"
        and node["Relation Name"] not in _SMALL
        and (name, node["Relation Name"]) not in _MAY_SCAN
        and node["Actual Loops"] > 0
    ]
    assert scans == [], f"{name} scans"
    touched = nodes[0]["Shared Hit Blocks"] + nodes[0]["Shared Read Blocks"]
    assert touched <= limit, f"{name} touches {touched} blocks"


@pytest.mark.parametrize(
    "steps",
    [(_FILL, "ANALYZE dl_jobs"), ("VACUUM ANALYZE dl_jobs", _FILL)],
    ids=["nothing was running", "there was nothing"],
)
async def test_no_batch_is_compared_each_with_each_whatever_the_statistics_say(
    bench: Bench, steps: tuple[str, str]
) -> None:
    count = _FILLED
    async with bench.db.dedicated_connection() as connection:
        for statement in ("SET dl_jobs.notify = off", *_SETTINGS, *steps):
            await connection.execute(statement)
        await connection.execute("INSERT INTO dl_workers (worker_id, queues) VALUES ('w', '{q}')")
        ids = [row[0] for row in await (await connection.execute("SELECT job_id FROM dl_jobs")).fetchall()]
        ends = {
            "job_ids": ids,
            "claim_nos": [1] * count,
            "messages": [None] * count,
            "results": [None] * count,
            "delays_s": [0.0] * count,
            "progress": [None] * count,
            "max_faults": [5] * count,
            "notify": "off",
        }
        progress = {"job_ids": ids, "claim_nos": [1] * count, "progress": ["{}"] * count}
        keyed = _parameters("w", look=count, wanted=count)
        batches: dict[str, tuple[str, dict[str, Any]]] = {
            "finish": (claims._FINISH, ends | {"outcomes": ["succeeded"] * count}),
            "end": (claims._END, ends | {"outcomes": ["succeeded", "retry"] * (count // 2)}),
            "progress": (guard._SAVE_PROGRESS, progress),
        }
        async with connection.transaction(force_rollback=True):
            await connection.execute("UPDATE dl_jobs SET lock_key = 'hot'")
            for statement in (claiming._CLAIM, claiming._CLAIM_FROM_CURSOR):
                nodes = await _explain(connection, statement, keyed | _ranges(), generic=True)
                assert _comparisons(nodes) <= 10 * count, statement
        await connection.execute("UPDATE dl_jobs SET status = 'running', claimed_by = 'w', attempt = 1, claim_no = 1")
        for name, (statement, parameters) in batches.items():
            async with connection.transaction(force_rollback=True):
                nodes = await _explain(connection, statement, parameters, generic=True)
            assert _comparisons(nodes) <= 10 * count, name


def _comparisons(nodes: list[dict[str, Any]]) -> int:
    """Return the rows that were filtered out, and the arrays that were searched for each row."""
    vain = sum(
        node["Actual Loops"] * (node.get("Rows Removed by Join Filter", 0) + node.get("Rows Removed by Filter", 0))
        for node in nodes
    )
    searched = sum(node["Actual Loops"] ** 2 for node in nodes if "= ANY" in node.get("Index Cond", ""))
    return int(vain + searched)
