"""Cancellation of tasks: the tasks that can be canceled, their jobs, and concurrent events."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.errors import FailedPrecondition, NotFound
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_jobs import JobAdmin, JobStore
from classifeed_processor.app.tasks.cancel_task import cancel_task
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.jobs.feed_process import registry
from classifeed_processor.store import reading, tasks

SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
CANCELED, SUPERSEDED = task_pb2.TASK_STATUS_CANCELED, task_pb2.TASK_STATUS_SUPERSEDED
IN_PROGRESS, HELD = task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD


class Tasks:
    """Tasks of one namespace, moved by hand."""

    def __init__(self, db: Any) -> None:
        self.db = db
        self._made = 0

    async def make(self, **fields: Any) -> TaskKey:
        self._made += 1
        what = fields or {"upload_id": f"u{self._made}", "source_sha256": "a" * 64}
        request = CreateTaskRequest(seller_id="shop", namespace="default", **what)
        return await create_task(self.db, JobStore(), request, timeout_s=60)

    async def begin(self, key: TaskKey) -> int:
        async with self.db.transaction() as tx:
            return await tasks.begin_run(tx, key, b"")

    async def reach(self, key: TaskKey, status: task_pb2.TaskStatus) -> None:
        run = await self.begin(key)
        async with self.db.transaction() as tx:
            await move(tx, key, run, status)

    async def cancel(self, key: TaskKey) -> task_pb2.Task:
        await cancel_task(self.db, key, timeout_s=60)
        return await self.task(key)

    async def task(self, key: TaskKey) -> task_pb2.Task:
        async with self.db.transaction() as tx:
            task = await reading.find_task(tx, key)
        assert task is not None
        return task

    async def job(self, key: TaskKey) -> Any:
        async with self.db.transaction() as tx:
            job_id = await tasks.find_job(tx, key)
            assert job_id is not None
            return await JobStore().get(tx, job_id)


async def move(tx: Any, key: TaskKey, run: int, status: task_pb2.TaskStatus) -> None:
    """Move a task that has begun; IN_PROGRESS: it has sent its end."""
    if status == IN_PROGRESS:
        await tasks.note_sent(tx, key, run, batch_count=1, digest=b"d")
    elif status == HELD:
        await tasks.hold_task(tx, key, load_pb2.LoadHold())
    else:
        await tasks.end_task(tx, key, status)


@pytest.fixture
async def made(migrated_database: Any) -> Tasks:
    return Tasks(await migrated_database("classifeed_processor", "processor"))


async def test_a_task_that_waits_ends_with_its_job_and_the_next_one_begins(made: Tasks) -> None:
    first, second = await made.make(), await made.make()
    later = (
        "UPDATE dl_jobs SET available_at = clock_timestamp() + interval '1 hour', waits_for = 'time' WHERE job_id = %s"
    )
    async with made.db.transaction() as tx:  # it has found the earlier task, and waits
        await tx.execute(later, [(await made.job(second)).job_id])
    task = await made.cancel(first)
    assert (task.status, task.phase, task.error_code) == (CANCELED, task_pb2.TASK_PHASE_DONE, "LOAD_CANCELED")
    assert task.error_message == (
        "Canceled before it began: no offer has changed. To load the file after all, load it again."
    )
    assert task.HasField("end_time")
    assert (await made.job(first)).status == "canceled"
    waiting = await made.job(second)
    assert waiting.status == "queued"
    assert waiting.available_at < datetime.now(UTC), "it is due"
    assert await made.cancel(first) == task, "a repeated call changes nothing"


async def test_a_load_under_way_says_what_stays(made: Tasks) -> None:
    key = await made.make()
    await made.begin(key)
    assert "what it has added and changed stays, and nothing was removed" in (await made.cancel(key)).error_message


async def test_a_removal_that_is_canceled_leaves_the_offers(made: Tasks) -> None:
    task = await made.cancel(await made.make(kind=task_pb2.TASK_KIND_DELETE, feed_version=7))
    assert (task.status, task.error_code) == (CANCELED, "REMOVAL_CANCELED")
    assert "remove the feed again" in task.error_message


async def test_there_is_nothing_to_cancel_of_a_task_that_is_not_there(made: Tasks) -> None:
    with pytest.raises(NotFound) as missing:
        await made.cancel(TaskKey("shop", "default", 5))
    assert missing.value.reason == "TASK_NOT_FOUND"


REFUSED = [
    (IN_PROGRESS, "TASK_SENT"),
    (HELD, "TASK_HELD"),
    (SUCCEEDED, "TASK_ENDED"),
    (FAILED, "TASK_ENDED"),
    (SUPERSEDED, "TASK_ENDED"),
]


@pytest.mark.parametrize(("status", "reason"), REFUSED)
async def test_too_late_a_call_changes_nothing(made: Tasks, status: task_pb2.TaskStatus, reason: str) -> None:
    key = await made.make()
    await made.reach(key, status)
    before, job = await made.task(key), await made.job(key)
    with pytest.raises(FailedPrecondition) as refused:
        await made.cancel(key)
    assert (refused.value.reason, refused.value.metadata) == (reason, {"task": key.name})
    assert await made.task(key) == before
    assert await made.job(key) == job, "its job goes on"


@pytest.mark.parametrize(("status", "reason"), REFUSED)
async def test_beside_whoever_moves_the_task_the_later_one_sees_the_earlier(
    made: Tasks, status: task_pb2.TaskStatus, reason: str
) -> None:
    """The run that stores its end, and the consumer that applies a reply, lock the task while the call waits."""
    key = await made.make()
    run = await made.begin(key)
    async with made.db.transaction() as tx:
        await tasks.lock_task(tx, key)
        await move(tx, key, run, status)
        canceling = asyncio.create_task(made.cancel(key))
        assert await comes_to_wait(canceling, made.db, behind=tx)
    with pytest.raises(FailedPrecondition) as refused:
        await canceling
    assert refused.value.reason == reason
    assert (await made.task(key)).status == status


async def test_a_run_that_notes_its_end_too_late_changes_nothing(made: Tasks) -> None:
    key = await made.make()
    run = await made.begin(key)
    task = await made.cancel(key)
    async with made.db.transaction() as tx:
        await tasks.note_scan(tx, key, run, format_name="yml", expected_total=3, warnings=["w"])
        await tasks.note_sent(tx, key, run, batch_count=1, digest=b"d")
        await tasks.stall(tx, key, run)
    assert await made.task(key) == task


async def test_an_operator_who_cancels_the_job_at_the_same_time_is_not_in_the_way(made: Tasks) -> None:
    """Both lock the job before the task; the other order is a deadlock."""
    key = await made.make()
    job = await made.job(key)
    async with made.db.transaction() as tx:
        await tx.execute("SELECT FROM dl_jobs WHERE job_id = %s FOR NO KEY UPDATE", [job.job_id])
        canceling = asyncio.create_task(made.cancel(key))
        assert await comes_to_wait(canceling, made.db, behind=tx)
        await tx.execute("SET LOCAL lock_timeout = '5s'")
        assert await tasks.lock_task(tx, key) is not None
    assert (await canceling).status == CANCELED
    await JobAdmin(made.db, JobStore(tasks=registry)).cancel(job.job_id, by="anna")
    assert (await made.task(key)).status == CANCELED
