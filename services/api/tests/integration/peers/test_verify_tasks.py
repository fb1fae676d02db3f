"""After a restore, the processor gets the uploads and removals again whose tasks it lost, and no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any
from uuid import uuid4

import pytest

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_ACTIVE, FEED_STATUS_REMOVED
from classifeed_api.app.peers.verify_tasks import TaskVerifier
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import task_line
from classifeed_common.db import Database

KEY = NamespaceKey("seller", "one")


class Processor:
    """Fake processor: the ids of the tasks that it still has, by namespace."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[int]] = {}
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        there = {f"{key}/tasks/{task_id}" for key, ids in self.tasks.items() for task_id in ids}
        return there & set(names)

    async def find_newest(self, key: NamespaceKey) -> int:
        newest = max(self.tasks.get(key.name, []), default=0)
        if self.meanwhile is not None:
            await self.meanwhile()
        return newest


class Api:
    """The tables, and the verifier."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.processor = Processor()
        self.woken = 0
        self.verifier = TaskVerifier(db, self.processor, on_lost=self._wake, interval_s=3600)

    def _wake(self) -> None:
        self.woken += 1

    async def _execute(self, sql: str, *parameters: object) -> None:
        async with self.db.transaction() as tx:
            await tx.execute(sql, parameters)

    async def upload(self, version: int, task_id: int | None, *, age: str = "0", namespace: str = "one") -> None:
        await self._execute(
            """
            INSERT INTO uploads (upload_id, seller_id, namespace, mode, disposition, file_name, sha256, size_bytes,
                                 task_id, stored, version, published_version, created_at)
            VALUES (%s, 'seller', %s, 1, 1, '', '', 0, %s, true, %s, %s, clock_timestamp() - %s::interval)
            """,
            *(uuid4(), namespace, task_id, version, version if task_id else 0, age),
        )

    async def deletion(self, version: int) -> None:
        await self._execute(
            "INSERT INTO feed_deletions VALUES ('seller', 'one', %s, %s, 1, clock_timestamp())", version, version
        )

    async def feed(self, status: int) -> None:
        await self._execute(
            """
            INSERT INTO feed (seller_id, namespace, version, published_version, status, settings, sealed_credentials,
                              created_at, updated_at)
            VALUES ('seller', 'one', 1, 1, %s, '', '', clock_timestamp(), clock_timestamp())
            """,
            status,
        )

    async def due(self) -> list[int]:
        """Return the versions of waiting uploads and removals, in the order of the pusher."""
        found: list[int] = []
        async with self.db.transaction() as tx:
            while rows := await (await tx.execute(task_line.SELECT_DUE, {"limit": 10})).fetchall():
                found += [row[-2] for row in rows]  # the last column is the trace
                await tx.execute("UPDATE uploads SET published_version = version WHERE version = %s", [found[-1]])
                await tx.execute(
                    "UPDATE feed_deletions SET published_version = version WHERE version = %s", [found[-1]]
                )
        return found


@pytest.fixture
async def api(migrated_database: Any) -> Api:
    return Api(await migrated_database("classifeed_api", "api"))


async def test_what_the_processor_lost_is_due_again_in_its_order(api: Api) -> None:
    await api.upload(10, 11)
    await api.upload(20, 21)
    await api.upload(30, 31)
    api.processor.tasks[KEY.name] = [11]
    assert await api.verifier.verify() == 2
    assert api.woken == 1
    assert await api.due() == [20, 30]


async def test_a_whole_database_lost_is_made_again_with_its_removals(api: Api) -> None:
    await api.upload(10, 11)
    await api.deletion(20)
    assert await api.verifier.verify() == 2
    assert await api.due() == [10, 20]


async def test_what_is_there_stays_and_nothing_is_written(api: Api) -> None:
    await api.upload(10, 11)
    await api.upload(20, 21)
    api.processor.tasks[KEY.name] = [11, 21]
    assert await api.verifier.verify() == 0
    assert (api.woken, await api.due()) == (0, [])


@pytest.mark.parametrize("newest", [22, 35], ids=["cleaned-up", "by-others"])
async def test_a_task_that_newer_ones_came_after_was_cleaned_up(api: Api, newest: int) -> None:
    await api.upload(20, 21)
    api.processor.tasks[KEY.name] = [newest]
    assert await api.verifier.verify() == 0
    assert await api.due() == []


async def test_a_removal_whose_task_is_there_stays(api: Api) -> None:
    await api.upload(10, 11)
    await api.deletion(20)
    api.processor.tasks[KEY.name] = [23]
    assert await api.verifier.verify() == 0


@pytest.mark.parametrize(("status", "lost"), [(FEED_STATUS_ACTIVE, 0), (FEED_STATUS_REMOVED, 1)])
async def test_an_upload_beside_a_feed_by_link_is_left_to_its_next_fetch(api: Api, status: int, lost: int) -> None:
    await api.feed(status)
    await api.upload(10, 11)
    assert await api.verifier.verify() == lost


async def test_old_uploads_and_waiting_ones_are_left_alone(api: Api) -> None:
    await api.upload(10, 11, age="8 days")
    await api.upload(20, None, namespace="two")
    assert await api.verifier.verify() == 0
    assert await api.due() == [20]


@pytest.mark.parametrize("task_id", [41, None], ids=["made", "waiting"])
async def test_an_upload_that_came_meanwhile_is_not_followed_by_older_ones(api: Api, task_id: int | None) -> None:
    await api.upload(10, 11)
    await api.upload(20, 21)
    api.processor.tasks[KEY.name] = [11]
    # Its task has the id 41, even if the api does not know that yet: new tasks for older files would be newer than it.
    api.processor.meanwhile = lambda: api.upload(40, task_id)
    assert await api.verifier.verify() == 0
    assert 20 not in await api.due()
