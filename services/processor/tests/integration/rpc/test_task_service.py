"""TaskService over real gRPC, with service tokens and validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.offer_results_pb2 import (
    BATCH_OUTCOME_APPLIED,
    TASK_END_OUTCOME_COMPLETED,
    OfferBatchResult,
    OfferCounts,
    TaskEndResult,
)
from classifeed.feeds.v1.task_service_pb2 import (
    CreateTaskRequest,
    GetTaskRequest,
    ListOfferErrorsRequest,
    ListTasksRequest,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_devkit.testing.texts import check_that_nul_is_refused
from classifeed_jobs import JobStore
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.rpc.task_service import task_servicer
from classifeed_processor.store import tasks

PARENT = "sellers/shop/feeds/default"
ERROR, WARNING = load_pb2.ISSUE_LEVEL_ERROR, load_pb2.ISSUE_LEVEL_WARNING


class NoBlobs(BlobStore):
    """No test of this module reads a file."""

    def __init__(self) -> None:
        """Do nothing."""

    async def fetch(self, sha256: str, target: Path) -> int:
        raise AssertionError(sha256)

    async def keep(self, sha256: str) -> None:
        """Do nothing, as if every file exists."""


def service_of(database: Database, folder: Path) -> Servicer:
    return task_servicer(
        database,
        JobStore(),
        NoBlobs(),
        ExportIssues(ReadIssues(database, NoBlobs()), folder),
        LocateOffer(database, NoBlobs(), folder),
    )


@pytest.fixture
async def database(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_processor", "processor")


@pytest.fixture
async def target(database: Database, rpc_server: StartServer, tmp_path: Path) -> str:
    return await rpc_server("processor", service_of(database, tmp_path))


Service = tuple[Database, TaskServiceStub]


@pytest.fixture
def service(database: Database, target: str, rpc_channel: OpenChannel) -> Service:
    return database, TaskServiceStub(rpc_channel(target, caller="api", audience="processor"))


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(target: str, rpc_channel: OpenChannel) -> None:
    await check_that_nul_is_refused(rpc_channel, target, "processor", "classifeed.feeds.v1.TaskService")


def request(number: int = 1, **fields: Any) -> CreateTaskRequest:
    fields = {
        "upload_id": f"u{number}",
        "seller_id": "shop",
        "namespace": "default",
        "source_sha256": "a" * 64,
    } | fields
    return CreateTaskRequest(**fields)


async def test_tasks_are_made_read_and_listed(service: Service) -> None:
    _, stub = service
    made = [await stub.CreateTask(request(number, file_name="цены.xml", source_bytes=5)) for number in range(1, 6)]
    ids = [task.task_id for task in made]
    assert ids == sorted(set(ids))
    first = await stub.GetTask(GetTaskRequest(name=made[0].name))
    assert first == made[0] == await stub.CreateTask(request(1))
    assert (first.name, first.status) == (f"{PARENT}/tasks/{ids[0]}", task_pb2.TASK_STATUS_IN_PROGRESS)
    assert (first.mode, first.disposition) == (load_pb2.LOAD_MODE_REPLACE, load_pb2.DISPOSITION_DELETE)
    assert (first.file_name, first.source_bytes, first.upload_id) == ("цены.xml", 5, "u1")
    await stub.CreateTask(request(9, namespace="other"))
    pages, token = [], ""
    while True:
        page = await stub.ListTasks(
            ListTasksRequest(parent="sellers/shop/feeds/default", page_size=2, page_token=token)
        )
        pages.append([task.task_id for task in page.tasks])
        if not (token := page.next_page_token):
            break
    assert pages == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]]


async def test_wrong_requests_name_the_field(service: Service) -> None:
    _, stub = service
    for wrong, field in (
        (stub.GetTask(GetTaskRequest(name="tasks/1")), "name"),
        (stub.CreateTask(request(namespace="Ä")), "namespace"),
        (stub.ListTasks(ListTasksRequest(parent="sellers/shop/feeds/default", page_token="x")), "page_token"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await wrong
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert field in (caught.value.details() or "") + str(caught.value.trailing_metadata())
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.GetTask(GetTaskRequest(name="sellers/shop/feeds/default/tasks/7"))
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    words = caught.value.details() or ""
    assert all(part in words for part in ("restored", "gets a new task", "next fetch", "send it again"))
    await stub.CreateTask(request())
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.CreateTask(request(source_sha256="b" * 64))
    assert caught.value.code() == grpc.StatusCode.ALREADY_EXISTS


@pytest.mark.parametrize(
    "fields",
    [
        {"file_name": "a\0.xml"},
        {"format": "yml\0"},
        {"seller_id": "shop\0"},
        {"namespace": "default\0"},
        {"upload_id": "11111111-1111-1111-1111-111111111111\0"},
        {"source_sha256": "a" * 63 + "\0"},
    ],
    ids=lambda fields: next(iter(fields)),
)
async def test_a_text_that_cannot_be_stored_is_a_fault_of_the_request(service: Service, fields: dict[str, Any]) -> None:
    _, stub = service
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.CreateTask(request(**fields))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_a_token_that_cannot_be_read_is_a_fault_of_the_request(service: Service) -> None:
    _, stub = service
    task = await stub.CreateTask(request())
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.ListOfferErrors(ListOfferErrorsRequest(parent=task.name, page_token="1,1,\0"))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def issue(external_id: str, number: int, **fields: Any) -> OfferError:
    fields = {
        "level": ERROR,
        "kind": load_pb2.ISSUE_KIND_VALIDATION,
        "code": "PRICE_INVALID",
        "field": "price",
    } | fields
    fields = {"line": number} | fields
    return OfferError(external_id=external_id, error_id=f"{number:032x}", ordinal=number, **fields)


async def test_issues_are_paged_errors_first_and_filtered(service: Service) -> None:
    database, stub = service
    jobs = JobStore()
    key = TaskKey("shop", "default", (await stub.CreateTask(request())).task_id)
    issues = [
        issue("b", 1),
        issue("a", 2, level=WARNING, code="URL_INVALID", field="url"),
        issue("a", 10, count=7),
        issue("z", 4, kind=load_pb2.ISSUE_KIND_DUPLICATE, code="DUPLICATE_ID"),
        issue("z", 3, line=4),
    ]
    async with database.transaction() as tx:
        run = await tasks.begin_run(tx, key, b"")
        await tasks.insert_batches(tx, key, run, [(1, 5)])
        result = OfferBatchResult(
            seller_id="shop", namespace="default", task_id=key.task_id, run=run, batch_id=1,
            outcome=BATCH_OUTCOME_APPLIED, counts=OfferCounts(rejected_validation=4, added=1), errors=issues,
        )  # fmt: skip
        assert await take_results(tx, jobs, [result, result]) == {key}
    async with database.transaction() as tx:
        assert await take_results(tx, jobs, [result]) == set()

    async def listed(**filters: Any) -> list[OfferError]:
        found: list[OfferError] = []
        token = ""
        while True:
            page = await stub.ListOfferErrors(
                ListOfferErrorsRequest(parent=key.name, page_size=1, page_token=token, **filters)
            )
            found.extend(page.errors)
            if not (token := page.next_page_token):
                return found

    # Errors before warnings, each in the order of the file; of one line, by the issue's id.
    assert [(error.level, error.line, error.error_id[-1]) for error in await listed()] == [
        (ERROR, 1, "1"), (ERROR, 4, "3"), (ERROR, 4, "4"), (ERROR, 10, "a"), (WARNING, 2, "2"),
    ]  # fmt: skip
    # A message of a release that did not count has no count, and counts as one.
    assert [error.count for error in await listed()] == [1, 1, 1, 7, 1]
    assert [error.external_id for error in await listed(level=WARNING)] == ["a"]
    assert [error.external_id for error in await listed(code="DUPLICATE_ID")] == ["z"]
    assert [error.external_id for error in await listed(kind=load_pb2.ISSUE_KIND_DUPLICATE)] == ["z"]
    assert [error.error_id[-1] for error in await listed(external_id="a")] == ["a", "2"]
    assert (await listed())[0].task == key.name
    statistics = (await stub.GetTask(GetTaskRequest(name=key.name))).statistics
    assert (statistics.total, statistics.rejected_validation, statistics.errors, statistics.warnings) == (5, 4, 4, 1)
    assert [(count.code, count.count, list(count.sample_external_ids)) for count in statistics.issues] == [
        ("PRICE_INVALID", 3, ["b", "a", "z"]), ("DUPLICATE_ID", 1, ["z"]), ("URL_INVALID", 1, ["a"]),
    ]  # fmt: skip
    # A new run resets the statistics, and replies about the old run are ignored.
    async with database.transaction() as tx:
        again = await tasks.begin_run(tx, key, b"")
        assert await take_results(tx, jobs, [result]) == set()
    async with database.transaction() as tx:
        await tasks.note_sent(tx, key, again, batch_count=1, digest=b"")
        end = TaskEndResult(
            seller_id="shop", namespace="default", task_id=key.task_id, run=run, outcome=TASK_END_OUTCOME_COMPLETED
        )
        assert await take_results(tx, jobs, [end]) == set()
        end.run = again
        assert await take_results(tx, jobs, [end, end]) == {key}
    assert await listed() == []
    assert (await stub.GetTask(GetTaskRequest(name=key.name))).statistics.total == 0


async def test_issues_of_earlier_runs_and_repeated_replies_are_not_listed(service: Service) -> None:
    database, stub = service
    jobs = JobStore()
    key = TaskKey("shop", "default", (await stub.CreateTask(request())).task_id)
    for number in range(1, 4):
        async with database.transaction() as tx:
            run = await tasks.begin_run(tx, key, b"")
            await tasks.insert_batches(tx, key, run, [(1, 80), (2, 80), (3, 80)])
        for batch_id in (1, 2, 2, 3, 1):
            issues = [issue(f"{number}-{batch_id}", 100 * batch_id + offer) for offer in range(80)]
            reply = OfferBatchResult(
                seller_id="shop", namespace="default", task_id=key.task_id, run=run, batch_id=batch_id,
                outcome=BATCH_OUTCOME_APPLIED, counts=OfferCounts(rejected_validation=80), errors=issues,
            )  # fmt: skip
            async with database.transaction() as tx:
                await take_results(tx, jobs, [reply, reply])
        async with database.transaction() as tx:
            [(rows,)] = await (await tx.execute("SELECT count(*) FROM offer_errors")).fetchall()
        page = await stub.ListOfferErrors(ListOfferErrorsRequest(parent=key.name, page_size=1000))
        assert (rows, len(page.errors)) == (100, 240)
        assert {error.external_id[0] for error in page.errors} == {str(number)}
        assert not page.unlisted
        [count] = (await stub.GetTask(GetTaskRequest(name=key.name))).statistics.issues
        assert (count.count, count.further, count.unlisted) == (240, 140, 0)


async def test_strangers_are_refused(
    migrated_database: MigratedDatabase, rpc_server: StartServer, rpc_channel: OpenChannel, tmp_path: Path
) -> None:
    database = await migrated_database("classifeed_processor", "processor")
    servicer = service_of(database, tmp_path)
    target = await rpc_server("processor", servicer)
    stub = TaskServiceStub(rpc_channel(target, caller="api", audience="processor", signed=False))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.CreateTask(request())
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    stub = TaskServiceStub(rpc_channel(target, caller="receiver", audience="processor"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.CreateTask(request())
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED
