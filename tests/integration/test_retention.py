"""After a year of small daily loads on a fake clock, every table that loads fill is at its bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from classifeed.feeds.v1.task_service_pb2 import FindTasksRequest
from classifeed_api.app.clean_up import api_clean_up
from classifeed_common.blobs import BlobRefs
from classifeed_common.db import Database
from classifeed_jobs import JobStore
from classifeed_loader.app.clean_up import loader_clean_up
from classifeed_offers.app.clean_up import offers_clean_up
from classifeed_offers.app.publishing.watch_publication import PublicationWatch
from classifeed_processor.app.clean_up import processor_clean_up
from classifeed_processor.rpc.task_service.tasks import TaskMethods

BEGIN: Final = datetime(2027, 1, 1, tzinfo=UTC)
FEEDS: Final = ("link", "uploads", "gone")
GONE_AFTER: Final = 200
KEPT: Final = 20
BATCHES: Final = 2
ISSUES: Final = 5
# Each load has one offer that the next load lacks.
DAY: Final = {
    "processor": """
        INSERT INTO task_counters VALUES ('s', %(feed)s, 1) ON CONFLICT DO NOTHING;
        INSERT INTO tasks (seller_id, namespace, task_id, kind, status, phase, run, mode, disposition, feed_version,
                           feed_loader_task_id, feed_loader_result_id, source_sha256, source_bytes, file_name,
                           ended_at)
        VALUES ('s', %(feed)s, %(number)s, %(kind)s, 3, 3, 1, 1, 1, %(number)s, %(source)s, %(fetch)s, '', 0, '',
                %(at)s);
        INSERT INTO feed_statistics VALUES ('s', %(feed)s, %(number)s, 1, '');
        INSERT INTO offer_batches SELECT 's', %(feed)s, %(number)s, 1, b, 100 FROM generate_series(1, 2) b;
        INSERT INTO offer_errors SELECT 's', %(feed)s, %(number)s, e::text, '', 1, e, 1, 1, 'C', '', 1, 1, '', '', '',
                                        '', '', '', '' FROM generate_series(1, 5) e;
        INSERT INTO blob_refs VALUES ('task:s/' || %(feed)s || '/' || %(number)s, repeat('0', 64))
    """,
    "offers": """
        INSERT INTO task_heads VALUES ('s', %(feed)s, %(number)s, 1)
        ON CONFLICT (seller_id, namespace) DO UPDATE SET task_id = excluded.task_id;
        INSERT INTO applied_batches (seller_id, namespace, task_id, run, batch_id, digest, applied_at)
        SELECT 's', %(feed)s, %(number)s, 1, b, '', %(at)s FROM generate_series(1, 2) b;
        INSERT INTO task_ends (seller_id, namespace, task_id, run, batch_count, disposition, outcome, received_at)
        VALUES ('s', %(feed)s, %(number)s, 1, 2, 'DELETE', 'COMPLETED', %(at)s);
        INSERT INTO namespace_sizes VALUES ('s', %(feed)s, %(at)s::date, 1);
        UPDATE offers SET status = 'REMOVED', updated_at = %(at)s WHERE namespace = %(feed)s AND status = 'ACTIVE';
        INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id,
                            last_change, moderation, version, published_version, updated_at)
        VALUES ('s', %(feed)s, %(number)s, '', decode(repeat('00', 16), 'hex'), 'FEED', 'ACTIVE', 1, 'ADDED',
                'APPROVED', 5, 5, %(at)s);
        INSERT INTO republications (reason, requested_at, marked_at, finished_at)
        SELECT '', at, at, at
        FROM (SELECT clock_timestamp() - make_interval(days => 366 - %(day)s) AS at) AS t WHERE %(feed)s = 'link'
    """,
    "loader": """
        INSERT INTO feed_loader_task (seller_id, namespace, feed_version, status, url, sealed_credentials, interval_s,
                                      mode, disposition, format)
        VALUES ('s', %(feed)s, 1, 1, '', '', 1, 1, 1, '') ON CONFLICT DO NOTHING;
        INSERT INTO feed_fetches (seller_id, namespace, feed_loader_result_id, feed_version, trigger, outcome, task,
                                  ended_at)
        VALUES ('s', %(feed)s, %(number)s, 1, 1, 3, %(task)s, %(at)s);
        UPDATE feed_loader_task SET last_result_id = %(number)s WHERE namespace = %(feed)s;
        INSERT INTO blob_refs VALUES ('fetch:' || %(number)s, repeat('0', 64)) ON CONFLICT DO NOTHING
    """,
    "api": """
        INSERT INTO uploads (upload_id, seller_id, namespace, mode, disposition, file_name, sha256, size_bytes, task_id,
                             stored, version, published_version, created_at)
        VALUES (%(upload)s, 's', %(feed)s, 1, 1, '', '', 1, %(number)s, true, %(number)s, %(number)s, %(at)s);
        INSERT INTO blob_refs VALUES ('upload:' || %(upload)s, repeat('0', 64));
        INSERT INTO uploads (upload_id, seller_id, namespace, mode, disposition, file_name, sha256, size_bytes, stored,
                             version, published_version, created_at)
        VALUES (gen_random_uuid(), 's', %(feed)s, 1, 1, '', '', 1, false, 0, 0, %(at)s)
    """,
}
REMOVAL: Final = {
    "loader": """
        UPDATE feed_loader_task SET status = 3 WHERE namespace = 'gone';
        INSERT INTO feed_fetches (seller_id, namespace, feed_loader_result_id, feed_version, trigger, outcome, ended_at)
        SELECT 's', 'gone', n, 1, 1, 4, %(at)s FROM generate_series(1, 5) n
    """,
    "api": """
        INSERT INTO feed (seller_id, namespace, version, published_version, status, settings, sealed_credentials,
                          created_at, updated_at) VALUES ('s', 'gone', 1, 1, 3, '', '', %(at)s, %(at)s);
        INSERT INTO feed_deletions VALUES ('s', 'gone', 1, 1, 1, %(at)s)
    """,
}
JUST_NOW: Final = "VALUES ('', clock_timestamp(), clock_timestamp())"


class Tasks:
    """The processor's RPCs for other services, called without a network."""

    def __init__(self, db: Database) -> None:
        self._service = TaskMethods(db, JobStore(), None)  # type: ignore[arg-type]

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        return set((await self._service.FindTasks(FindTasksRequest(names=names), None)).names)  # type: ignore[arg-type]


async def run(db: Database, scripts: Sequence[tuple[str, dict[str, Any]]]) -> None:
    async with db.transaction() as tx, tx.pipeline():
        for statements, values in scripts:
            for statement in filter(str.strip, statements.split(";")):
                await tx.execute(statement, values)


async def counts(db: Database, *tables: str) -> dict[str, int]:
    async with db.transaction() as tx:
        rows = [await (await tx.execute(f"SELECT count(*) FROM {table}")).fetchone() for table in tables]
    return {table: row[0] for table, row in zip(tables, rows, strict=True) if row is not None}


@pytest.mark.slow
async def test_every_table_is_at_its_bound_after_a_year_of_daily_loads(migrated_database: Any) -> None:
    services = ("processor", "offers", "loader", "api")
    dbs: dict[str, Database] = {name: await migrated_database(f"classifeed_{name}", name) for name in services}
    tasks, refs = Tasks(dbs["processor"]), BlobRefs()
    cleaners = {
        "processor": processor_clean_up(history_tasks=KEPT),
        "offers": offers_clean_up(history_days=30, removed_days=45),
        "loader": loader_clean_up(tasks, refs),
        "api": api_clean_up(tasks, refs, history_uploads=KEPT, removed_days=45),
    }
    for name in ("processor", "loader", "api"):
        await run(dbs[name], [("INSERT INTO blobs VALUES (repeat('0', 64), 1000, clock_timestamp())", {})])
    scripts: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for day in range(1, 366):
        at = BEGIN + timedelta(days=day)
        for feed in FEEDS:
            if feed == "gone" and day > GONE_AFTER:
                continue
            is_removal = feed == "gone" and day == GONE_AFTER
            number = int(at.timestamp() * 1_000_000) + FEEDS.index(feed)
            values = {
                "feed": feed, "number": number, "at": at, "kind": 2 if is_removal else 1, "day": day, "upload": uuid4(),
                "source": FEEDS.index(feed) if feed != "uploads" and not is_removal else None,
                "fetch": number if feed != "uploads" and not is_removal else None,
                "task": f"sellers/s/feeds/{feed}/tasks/{number}",
            }  # fmt: skip
            for name in ("processor", "offers", "api" if feed == "uploads" else "loader"):
                if name == "loader" and is_removal:
                    scripts[name].append((REMOVAL[name], values))
                    scripts["api"].append((REMOVAL["api"], values))
                else:
                    scripts[name].append((DAY[name], values))
        if day % 5 == 0:
            for name, cleaner in cleaners.items():
                await run(dbs[name], scripts.pop(name, []))
                await cleaner.run(dbs[name], at)
            if day == GONE_AFTER + 5:
                assert await counts(dbs["api"], "feed", "feed_deletions") == {"feed": 1, "feed_deletions": 1}
    # 20 loads of each of two active feeds, and the removal of the third.
    assert await counts(dbs["processor"], "tasks", "feed_statistics", "offer_batches", "offer_errors", "blob_refs") == {
        "tasks": 2 * KEPT + 1,
        "feed_statistics": 2 * KEPT + 1,
        "offer_batches": (2 * KEPT + 1) * BATCHES,
        "offer_errors": (2 * KEPT + 1) * ISSUES,
        "blob_refs": 2 * KEPT + 1,
    }
    # 30 days and today for two feeds, and the last run of the third.
    assert await counts(dbs["offers"], "task_ends", "applied_batches") == {
        "task_ends": 2 * 31 + 1,
        "applied_batches": (2 * 31 + 1) * BATCHES,
    }
    # For two feeds, the offer of the last load and the offers removed within 45 days.
    assert await counts(dbs["offers"], "offers") == {"offers": 2 * (1 + 46) + 1}
    # For two active feeds, the days that the removal guard may read, and the day before.
    assert await counts(dbs["offers"], "namespace_sizes") == {"namespace_sizes": 2 * 8}
    # Rows older than 90 days are removed when the next one finishes.
    await run(dbs["offers"], [(f"INSERT INTO republications (reason, requested_at, marked_at) {JUST_NOW}", {})])
    await PublicationWatch(dbs["offers"]).poll()
    assert await counts(dbs["offers"], "republications") == {"republications": 90}
    # The fetches of the tasks; for a removed feed, the fetch whose file may be requested.
    assert await counts(dbs["loader"], "feed_fetches", "blob_refs") == {"feed_fetches": KEPT + 1, "blob_refs": KEPT + 1}
    # The uploads of the tasks, and uploads that broke off within a day.
    assert await counts(dbs["api"], "uploads", "blob_refs", "feed", "feed_deletions") == {
        "uploads": KEPT + 2,
        "blob_refs": KEPT,
        "feed": 0,
        "feed_deletions": 0,
    }
