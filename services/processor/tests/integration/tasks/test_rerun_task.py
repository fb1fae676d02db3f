"""Reruns load the file of an earlier task, once for each request, with the same options, and only if it makes sense."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.blobs import BlobMissing, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import DomainError, ResourceExhausted
from classifeed_jobs import JobStore
from classifeed_processor.app.tasks import rerun_task as rerunning
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.app.tasks.rerun_task import rerun_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading, tasks

SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
CANCELED, SUPERSEDED = task_pb2.TASK_STATUS_CANCELED, task_pb2.TASK_STATUS_SUPERSEDED
HELD = task_pb2.TASK_STATUS_HELD
OLD, NEW = "a" * 64, "b" * 64
REQUEST = "1f0b7c9e-6a55-4b8e-9a0e-2c8f0f0e7a11"


class Blobs(BlobStore):
    """Files of which some are gone."""

    def __init__(self) -> None:
        self.gone: set[str] = set()

    async def keep(self, sha256: str) -> None:
        if sha256 in self.gone:
            raise BlobMissing(sha256)


class Loads:
    """Loads of one namespace, ended by hand."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.blobs = Blobs()
        self._made = 0

    async def make(self, **fields: Any) -> TaskKey:
        request = CreateTaskRequest(**{"seller_id": "shop", "namespace": "default"} | fields)
        return await create_task(self.db, JobStore(), request, timeout_s=60)

    async def upload(self, status: task_pb2.TaskStatus = SUCCEEDED, **fields: Any) -> TaskKey:
        self._made += 1
        key = await self.make(**{"upload_id": f"u{self._made}", "source_sha256": OLD} | fields)
        await self.end(key, status)
        return key

    async def fetch(self, number: int, sha256: str, **fields: Any) -> TaskKey:
        source = {"feed_version": 1, "feed_loader_task_id": 7, "feed_loader_result_id": number}
        return await self.make(source_sha256=sha256, skip_if_loaded=True, **source, **fields)

    async def end(self, key: TaskKey, status: task_pb2.TaskStatus) -> None:
        async with self.db.transaction() as tx:
            await (tasks.hold_task(tx, key, load_pb2.LoadHold()) if status == HELD else tasks.end_task(tx, key, status))

    async def rerun(self, key: TaskKey, request_id: str | None = None) -> TaskKey:
        options: Any = {"request_id": request_id, "allow_removals": False, "allow_changes": False, "timeout_s": 60}
        return await rerun_task(self.db, JobStore(), self.blobs, key, **options)

    async def task(self, key: TaskKey) -> task_pb2.Task:
        async with self.db.transaction() as tx:
            task = await reading.find_task(tx, key)
        assert task is not None
        return task

    async def count(self) -> int:
        async with self.db.transaction() as tx:
            [(count,)] = await (await tx.execute("SELECT count(*) FROM tasks")).fetchall()
        return int(count)


@pytest.fixture
async def loads(migrated_database: Any) -> Loads:
    return Loads(await migrated_database("classifeed_processor", "processor"))


async def reason_of(call: Awaitable[object]) -> str:
    with pytest.raises(DomainError) as refused:
        await call
    return f"{type(refused.value).__name__} {refused.value.reason}"


async def test_it_loads_the_file_as_the_earlier_task_did(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"mode": load_pb2.LOAD_MODE_PATCH, "disposition": load_pb2.DISPOSITION_MAKE_MANUAL, "format": "yml"}
    fetched = await loads.make(
        source_sha256=OLD, source_bytes=5, feed_version=3, feed_loader_task_id=7, feed_loader_result_id=9, **settings
    )
    await loads.end(fetched, SUCCEEDED)
    monkeypatch.setattr(rerunning, "PARSER_VERSION", 99)
    made = await loads.rerun(fetched)
    again, earlier = await loads.task(made), await loads.task(fetched)
    assert made.task_id > fetched.task_id
    assert again.rerun_of == earlier.name
    assert (again.status, again.kind) == (task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_KIND_LOAD)
    for name in ("mode", "disposition", "source_sha256", "source_bytes", "file_name"):
        assert getattr(again, name) == getattr(earlier, name), name
    assert (again.fetch, again.feed_version, again.upload_id) == ("", 0, ""), "it has no place among the fetches"
    async with loads.db.transaction() as tx:
        state = await tasks.lock_task(tx, made)
        job_id = await tasks.find_job(tx, made)
        assert job_id is not None
        job = await JobStore().get(tx, job_id)
        newest = await tasks.find_newest(tx, "shop", "default")
        refs = await (await tx.execute("SELECT ref FROM blob_refs WHERE sha256 = %s ORDER BY ref", [OLD])).fetchall()
    assert state is not None
    assert state.format_wanted == "yml"
    assert job is not None
    assert (job.status, job.lock_key, job.args) == ("queued", made.lock_key, made._asdict())
    assert newest is not None
    assert (newest.key, newest.parser_version) == (made, 99)
    assert [ref for (ref,) in refs] == [fetched.blob_ref, made.blob_ref], "each task keeps the file for itself"
    await loads.end(made, SUCCEEDED)
    twice = await loads.task(await loads.rerun(made))
    assert twice.rerun_of == again.name


@pytest.mark.parametrize("status", [SUCCEEDED, FAILED, CANCELED, SUPERSEDED])
async def test_any_load_that_has_ended_can_be_run_again(loads: Loads, status: task_pb2.TaskStatus) -> None:
    assert await loads.rerun(await loads.upload(status)) is not None


async def test_one_request_is_one_load(loads: Loads) -> None:
    earlier, other = await loads.upload(), await loads.upload()
    made = await asyncio.gather(*(loads.rerun(earlier, REQUEST) for _ in range(6)))
    assert len(set(made)) == 1
    loads.blobs.gone.add(OLD)
    assert await loads.rerun(earlier, REQUEST) == made[0], "whatever has become of the file"
    loads.blobs.gone.clear()
    assert await reason_of(loads.rerun(other, REQUEST)) == "InvalidArgument REQUEST_ID_REUSED"
    assert await loads.count() == 3
    theirs = await loads.upload(seller_id="another")
    assert (await loads.rerun(theirs, REQUEST)).seller_id == "another"
    assert len({await loads.rerun(earlier), await loads.rerun(earlier)}) == 2, "without one each call is a load"


async def test_a_namespace_has_ten_open_reruns_at_most(loads: Loads) -> None:
    earlier = await loads.upload()
    first = await loads.rerun(earlier, REQUEST)
    made = await asyncio.gather(*(loads.rerun(earlier) for _ in range(12)), return_exceptions=True)
    refused = [each for each in made if isinstance(each, ResourceExhausted)]
    assert [each.reason for each in refused] == ["RERUNS_FULL"] * 3
    assert "cancel those" in refused[0].message
    assert await loads.count() == 11
    assert await loads.rerun(earlier, REQUEST) == first, "a call that is repeated is answered"
    assert await loads.rerun(await loads.upload(namespace="other")), "of other namespaces none is refused"
    await loads.end(first, SUCCEEDED)
    assert await loads.rerun(earlier)


async def test_what_cannot_be_run_again_makes_no_task(loads: Loads) -> None:
    waiting = await loads.make(upload_id="w", source_sha256=OLD)
    assert await reason_of(loads.rerun(waiting)) == "FailedPrecondition TASK_OPEN"
    await loads.end(waiting, HELD)
    assert await reason_of(loads.rerun(waiting)) == "FailedPrecondition TASK_OPEN"
    assert await reason_of(loads.rerun(TaskKey("shop", "default", 5))) == "NotFound TASK_NOT_FOUND"
    lost = await loads.upload(source_sha256=NEW)
    loads.blobs.gone.add(NEW)
    assert await reason_of(loads.rerun(lost, REQUEST)) == "FailedPrecondition SOURCE_GONE"
    assert await loads.count() == 2
    loads.blobs.gone.clear()
    assert await loads.rerun(lost, REQUEST), "the refusal was not remembered"


async def test_a_removal_is_not_run_again_nor_is_what_was_removed_by_it(loads: Loads) -> None:
    earlier = await loads.upload()
    removal = await loads.make(kind=task_pb2.TASK_KIND_DELETE, feed_version=3)
    assert await reason_of(loads.rerun(earlier)) == "FailedPrecondition NAMESPACE_REMOVED"
    assert await reason_of(loads.rerun(removal)) == "FailedPrecondition SOURCE_GONE"
    await loads.end(removal, SUCCEEDED)
    assert await reason_of(loads.rerun(earlier)) == "FailedPrecondition NAMESPACE_REMOVED"
    await loads.upload()
    assert await loads.rerun(earlier), "the namespace is filled again"


async def test_an_earlier_task_that_goes_meanwhile_is_not_run_again(loads: Loads) -> None:
    """Its reference to the file is deleted with it, and then the file."""
    earlier = await loads.upload()

    async def clean_up(sha256: str) -> None:
        async with loads.db.transaction() as tx:
            await tx.execute("DELETE FROM tasks")

    loads.blobs.keep = clean_up  # type: ignore[method-assign]
    assert await reason_of(loads.rerun(earlier)) == "NotFound TASK_NOT_FOUND"
    assert await loads.count() == 0


async def test_after_it_the_link_s_file_is_loaded_unless_it_is_the_same(loads: Loads) -> None:
    """The loader sends a request at each fetch, even if the site says that the file has not changed."""
    first = await loads.fetch(1, OLD)
    await loads.end(first, SUCCEEDED)
    second = await loads.fetch(2, NEW)
    await loads.end(second, SUCCEEDED)
    assert await loads.fetch(3, NEW) == second
    undo = await loads.rerun(first)
    # The namespace should have the file of the first fetch now, and the link has that of the second one.
    redo = await loads.fetch(4, NEW)
    assert redo not in {first, second, undo}
    await loads.end(undo, SUCCEEDED)
    await loads.end(redo, SUCCEEDED)
    again = await loads.rerun(second)
    await loads.end(again, SUCCEEDED)
    assert await loads.fetch(5, NEW) == again
    assert await loads.fetch(6, OLD) not in {first, undo}
