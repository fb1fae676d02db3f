"""Uploads are deleted after their tasks, removed feeds after 45 days; rows that wait for a task stay."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_ACTIVE, FEED_STATUS_REMOVED
from classifeed_api.app import clean_up as cleaning
from classifeed_api.app.clean_up import api_clean_up
from classifeed_common.blobs import BlobRefs
from classifeed_common.db import Database

AT = datetime(2026, 11, 26, tzinfo=UTC)


class Tasks:
    """Fake processor with some tasks."""

    def __init__(self, *numbers: int) -> None:
        self.names = {f"sellers/s/feeds/default/tasks/{number}" for number in numbers}

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        return self.names & set(names)


async def insert_upload(
    db: Database,
    number: int,
    *,
    stored: bool = True,
    published: bool = True,
    age_days: float = 90,
    request: str | None = None,
) -> None:
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO uploads (upload_id, seller_id, namespace, request_id, mode, disposition, file_name, sha256,"
            " size_bytes, task_id, stored, version, published_version, created_at)"
            " VALUES (%s, 's', 'default', %s, 1, 1, '', %s, 1, %s, %s, %s, %s, %s)",
            (
                UUID(int=number), request, f"{number:064x}", number if published and stored else None, stored,
                number if stored else 0, number if published and stored else 0, AT - timedelta(days=age_days),
            ),
        )  # fmt: skip
        await BlobRefs().add(tx, f"{number:064x}", f"upload:{UUID(int=number)}")


async def left(db: Database) -> list[int]:
    async with db.transaction() as tx:
        rows = await (await tx.execute("SELECT upload_id FROM uploads ORDER BY 1")).fetchall()
        refs = await (await tx.execute("SELECT ref FROM blob_refs ORDER BY ref")).fetchall()
    assert [ref for (ref,) in refs] == [f"upload:{upload_id}" for (upload_id,) in rows]
    return [upload_id.int for (upload_id,) in rows]


async def clean(db: Database, tasks: Tasks, kept: int = 2) -> None:
    await api_clean_up(tasks, BlobRefs(), history_uploads=kept, removed_days=45).run(db, AT)


@pytest.mark.parametrize("limit", [1, 2, 200])
async def test_uploads_go_with_their_tasks(db: Database, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    defaults = cleaning.remove_old_uploads.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "limit", limit)
    for number in range(1, 7):
        await insert_upload(db, number)
    await clean(db, Tasks(2, 6))
    assert await left(db) == [2, 5, 6], "the task of 2 is there, and the newest two stay whatever is gone"


async def insert_feed(db: Database, version: int, *, status: int = FEED_STATUS_REMOVED, published: int = 0) -> None:
    at = AT - timedelta(days=90)
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO feed (seller_id, namespace, version, published_version, status, settings, sealed_credentials,"
            " created_at, updated_at, has_link) VALUES ('s', 'default', %s, %s, %s, '', '', %s, %s, %s)",
            (version, published, status, at, at, bool(published)),
        )


async def feeds_left(db: Database) -> int:
    async with db.transaction() as tx:
        [(count,)] = await (await tx.execute("SELECT count(*) FROM feed")).fetchall()
    return int(count)


async def test_of_uploads_from_before_a_removal_none_stays_and_it_is_remembered_until_then(db: Database) -> None:
    """Otherwise the namespace would be listed again once its removal is deleted."""
    for number in (1, 2, 3, 5, 6, 7):
        await insert_upload(db, number)
    await insert_feed(db, 4)
    await clean(db, Tasks(2), kept=5)
    assert await left(db) == [2, 5, 6, 7], "the task of 2 is there"
    assert await feeds_left(db) == 1
    await clean(db, Tasks(), kept=5)
    assert (await left(db), await feeds_left(db)) == ([5, 6, 7], 0)


async def test_uploads_from_before_the_last_change_of_a_feed_that_is_there_stay(db: Database) -> None:
    for number in (1, 2, 3):
        await insert_upload(db, number)
    await insert_feed(db, 9, status=FEED_STATUS_ACTIVE, published=9)
    await clean(db, Tasks(), kept=2)
    assert await left(db) == [2, 3]


async def test_upload_that_waits_for_its_task_stays(db: Database) -> None:
    await insert_upload(db, 1, published=False)
    for number in range(2, 6):
        await insert_upload(db, number)
    await clean(db, Tasks())
    assert await left(db) == [1, 4, 5]


async def test_upload_that_was_never_stored_goes_after_a_day(db: Database) -> None:
    await insert_upload(db, 1, stored=False, age_days=1.1)
    await insert_upload(db, 2, stored=False, age_days=0.9)
    await clean(db, Tasks())
    assert await left(db) == [2]


async def test_removed_feeds_go_after_their_time(db: Database) -> None:
    rows = [("old", 46, 5, FEED_STATUS_REMOVED), ("young", 44, 5, FEED_STATUS_REMOVED),
            ("unpublished", 90, 4, FEED_STATUS_REMOVED), ("alive", 90, 5, FEED_STATUS_ACTIVE)]  # fmt: skip
    async with db.transaction() as tx:
        for name, age, published, status in rows:
            at = AT - timedelta(days=age)
            await tx.execute(
                "INSERT INTO feed (seller_id, namespace, version, published_version, status, settings,"
                " sealed_credentials, created_at, updated_at) VALUES ('s', %s, 5, %s, %s, '', '', %s, %s)",
                (name, published, status, at, at),
            )
            await tx.execute("INSERT INTO feed_deletions VALUES ('s', %s, 5, %s, 1, %s)", (name, published, at))
    await clean(db, Tasks())
    async with db.transaction() as tx:
        feeds = await (await tx.execute("SELECT namespace FROM feed ORDER BY 1")).fetchall()
        deletions = await (await tx.execute("SELECT namespace FROM feed_deletions ORDER BY 1")).fetchall()
    assert feeds == [("alive",), ("unpublished",), ("young",)]
    assert deletions == [("unpublished",), ("young",)]
