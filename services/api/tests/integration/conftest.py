"""A running api between fakes of the processor and the loader."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from classifeed.feeds.v1 import format_pb2, task_pb2, task_service_pb2
from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_REMOVED, FeedSourceState, Fetch
from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceStub
from classifeed.feeds.v1.feed_source_service_pb2 import (
    GetFetchRequest,
    GetSourceStatesRequest,
    GetSourceStatesResponse,
    ListFetchesRequest,
    ListFetchesResponse,
    ListSourcesRequest,
    ListSourcesResponse,
    PutSourcesRequest,
    PutSourcesResponse,
    RunSourceRequest,
    SourceRecord,
)
from classifeed.feeds.v1.feed_source_service_pb2_grpc import (
    FeedSourceServiceServicer,
    add_FeedSourceServiceServicer_to_server,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceServicer, add_TaskServiceServicer_to_server
from classifeed_api import parts
from classifeed_api.app.uploads.limit_uploads import UploadSlots
from classifeed_api.bootstrap import build
from classifeed_api.clients.loader import LoaderClient
from classifeed_api.parts import families
from classifeed_api.rpc.feed_service.uploads import UploadMethods
from classifeed_api.settings import ApiSettings
from classifeed_common.auth.encryption import CredentialCipher, new_key_line
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition, InvalidArgument, NotFound, Unavailable
from classifeed_common.rpc.server import Servicer
from classifeed_common.runner import ServiceRunner
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.rpc import OpenChannel, StartServer

Made = tuple[str, int]
"""Purpose of each task: its upload, or DELETE and the version of the removed feed."""


class Processor(TaskServiceServicer):
    """Fake processor: knows uploads by their id and removals by their version; refuses calls if a test says so."""

    def __init__(self) -> None:
        self.refuses: Callable[[task_service_pb2.CreateTaskRequest], bool] = lambda _: False
        self.requests: list[task_service_pb2.CreateTaskRequest] = []
        self.tasks: dict[tuple[str, str], list[Made]] = {}
        self.listed: list[task_pb2.Task] | None = []
        """The newest tasks of every namespace; None: the call fails."""
        self.passed_on: list[task_service_pb2.CancelTaskRequest | task_service_pb2.RerunTaskRequest] = []
        self.looks = 0
        self.formats_away = False
        self.standings: dict[str, task_pb2.Task] = {}
        """Tasks by name; while `away` is set, calls fail."""
        self.away = False
        self.finds: list[list[str]] = []
        self.hangs: asyncio.Event | None = None
        """If given, GetTask sets it and never responds."""

    async def CreateTask(self, request: task_service_pb2.CreateTaskRequest, context: Any) -> task_pb2.Task:
        if self.refuses(request):
            raise Unavailable("AWAY", "not now")
        self.requests.append(request)
        line = self.tasks.setdefault((request.seller_id, request.namespace), [])
        made = ("DELETE", request.feed_version) if request.kind == task_pb2.TASK_KIND_DELETE else (request.upload_id, 0)
        if made not in line:
            line.append(made)
        return task_pb2.Task(task_id=line.index(made) + 1, kind=request.kind)

    async def ConfirmTask(self, request: task_service_pb2.ConfirmTaskRequest, context: Any) -> task_pb2.Task:
        return task_pb2.Task(name=request.name, decision="HOLD_DECISION_CONFIRM")

    async def RejectTask(self, request: task_service_pb2.RejectTaskRequest, context: Any) -> task_pb2.Task:
        raise FailedPrecondition("TASK_NOT_HELD", f"{request.name} is not held.")

    async def ListTasks(
        self, request: task_service_pb2.ListTasksRequest, context: Any
    ) -> task_service_pb2.ListTasksResponse:
        if self.listed is None:
            raise Unavailable("AWAY", "not now")
        return task_service_pb2.ListTasksResponse(tasks=self.listed)

    async def ExportOfferErrors(
        self, request: task_service_pb2.ExportOfferErrorsRequest, context: Any
    ) -> AsyncIterator[task_service_pb2.ExportOfferErrorsResponse]:
        if request.code == "GONE":
            raise FailedPrecondition("ISSUES_GONE", "gone")
        for number in range(3):
            yield task_service_pb2.ExportOfferErrorsResponse(content=f"{request.code}{number}".encode(), issues=number)

    async def CancelTask(self, request: task_service_pb2.CancelTaskRequest, context: Any) -> task_pb2.Task:
        self.passed_on.append(request)
        return task_pb2.Task(name=request.name, status="TASK_STATUS_CANCELED")

    async def RerunTask(self, request: task_service_pb2.RerunTaskRequest, context: Any) -> task_pb2.Task:
        if not request.name.endswith("/1"):
            raise FailedPrecondition("SOURCE_GONE", "gone", metadata={"task": request.name})
        self.passed_on.append(request)
        return task_pb2.Task(name=f"{request.name}1", rerun_of=request.name)

    async def GetTask(self, request: task_service_pb2.GetTaskRequest, context: Any) -> task_pb2.Task:
        self.looks += 1
        if self.hangs is not None:
            self.hangs.set()
            await asyncio.Event().wait()
        ended = self.looks >= 5
        task = task_pb2.Task(name=request.name, status="TASK_STATUS_SUCCEEDED" if ended else "TASK_STATUS_IN_PROGRESS")
        task.statistics.total = self.looks // 2
        return task

    async def FindTasks(
        self, request: task_service_pb2.FindTasksRequest, context: Any
    ) -> task_service_pb2.FindTasksResponse:
        if self.away:
            raise Unavailable("AWAY", "not now")
        self.finds.append(list(request.names))
        found = [self.standings[name] for name in request.names if name in self.standings]
        return task_service_pb2.FindTasksResponse(
            names=[task.name for task in found], tasks=found if request.with_tasks else []
        )

    async def ListFormats(self, request: format_pb2.ListFormatsRequest, context: Any) -> format_pb2.ListFormatsResponse:
        if self.formats_away:
            raise Unavailable("AWAY", "not now")
        return format_pb2.ListFormatsResponse(formats=[format_pb2.Format(name="formats/yml", format="yml")])

    async def GetFormatFile(self, request: format_pb2.GetFormatFileRequest, context: Any) -> format_pb2.FormatFile:
        if request.name != "formats/yml":
            raise NotFound("FORMAT_NOT_FOUND", "There is none.")
        return format_pb2.FormatFile(file_name="yml.xml", content=b"<yml_catalog/>")


class Loader(FeedSourceServiceServicer):
    """Fake loader: the newest version of each source wins."""

    def __init__(self) -> None:
        self.away = False
        self.poison: set[str] = set()
        self.sources: dict[str, SourceRecord] = {}
        self.calls: list[int] = []
        self.state_calls: list[list[str]] = []
        self.fetches: dict[str, Fetch] = {}
        self.newest: dict[str, Fetch] = {}
        """The newest fetch of a feed, by the feed's name."""

    def _respond(self) -> None:
        if self.away:
            raise Unavailable("AWAY", "not now")

    def _take(self, source: SourceRecord) -> SourceRecord:
        name = f"sellers/{source.seller_id}/feeds/{source.namespace}"
        known = self.sources.setdefault(name, source)
        if known.feed_version < source.feed_version:
            self.sources[name] = source
        return self.sources[name]

    async def PutSources(self, request: PutSourcesRequest, context: Any) -> PutSourcesResponse:
        self._respond()
        self.calls.append(len(request.sources))
        if self.poison & {source.namespace for source in request.sources}:
            raise InvalidArgument("POISON", "refused")
        return PutSourcesResponse(feed_versions=[self._take(source).feed_version for source in request.sources])

    async def RunSource(self, request: RunSourceRequest, context: Any) -> Fetch:
        self._respond()
        source = self._take(request.source)
        if source.status == FEED_STATUS_REMOVED:
            raise FailedPrecondition("SOURCE_REMOVED", "gone")
        parent = f"sellers/{source.seller_id}/feeds/{source.namespace}/fetches"
        fetch = Fetch(name=f"{parent}/{len(self.fetches) + 1}", feed_version=source.feed_version, forced=request.force)
        return self.fetches.setdefault(request.request_id, fetch)

    async def GetSourceStates(self, request: GetSourceStatesRequest, context: Any) -> GetSourceStatesResponse:
        self._respond()
        self.state_calls.append(list(request.names))
        versions = [self.sources[name].feed_version if name in self.sources else 0 for name in request.names]
        newest = [self.newest.get(name) for name in request.names]
        return GetSourceStatesResponse(
            states=[
                FeedSourceState(feed_version=version, last_fetch=fetch)
                for version, fetch in zip(versions, newest, strict=True)
            ]
        )

    async def ListSources(self, request: ListSourcesRequest, context: Any) -> ListSourcesResponse:
        return ListSourcesResponse(names=sorted(name for name in self.sources if name > request.after))

    async def GetFetch(self, request: GetFetchRequest, context: Any) -> Fetch:
        for fetch in self.fetches.values():
            if fetch.name == request.name:
                return fetch
        raise NotFound("FETCH_NOT_FOUND", "There is none.")

    async def ListFetches(self, request: ListFetchesRequest, context: Any) -> ListFetchesResponse:
        return ListFetchesResponse(fetches=list(self.fetches.values()), next_page_token=request.page_token)


@pytest.fixture
async def db(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_api")


@pytest.fixture
def bucket() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def blobs(s3: EmbeddedS3, bucket: str) -> AsyncIterator[BlobStore]:
    store = BlobStore(endpoint=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key, bucket=bucket)
    await store.open()
    yield store
    await store.close()


@dataclass
class Api:
    """A running api: its stub, and the fakes that it calls."""

    target: str
    stub: FeedServiceStub
    processor: Processor
    loader: Loader
    cipher: CredentialCipher
    spool: Path
    runner: ServiceRunner
    stop: asyncio.Event = field(default_factory=asyncio.Event)


StartApi = Callable[..., Awaitable[Api]]


@pytest.fixture
async def start_api(
    db: Database,
    s3: EmbeddedS3,
    bucket: str,
    rpc_server: StartServer,
    rpc_channel: OpenChannel,
    socket_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[StartApi]:
    """Start the api on this test's database: `await start_api(roles={"serve"}, min_interval_s=5)`; None: all roles.

    `idle_s` and `spared_s` replace the constants of open uploads.
    """
    monkeypatch.setattr(parts, "LoaderClient", partial(LoaderClient, states_timeout_s=5))
    spool = tmp_path / "spool"
    spool.mkdir()
    secrets_file = tmp_path / "secrets"
    secrets_file.write_text(new_key_line())
    async with AsyncExitStack() as stack:

        async def start(
            roles: set[str] | None = None, *, idle_s: float = 30, spared_s: float = 5, **settings: Any
        ) -> Api:
            monkeypatch.setattr(families, "UploadMethods", partial(UploadMethods, idle_s=idle_s))
            monkeypatch.setattr(families, "UploadSlots", partial(UploadSlots, spared_s=spared_s))
            processor, loader = Processor(), Loader()
            to_processor = await rpc_server("processor", Servicer.of(add_TaskServiceServicer_to_server, processor))
            to_loader = await rpc_server("loader", Servicer.of(add_FeedSourceServiceServicer_to_server, loader))
            address = f"unix:{socket_dir}/api"
            values = {
                "grpc_listen": address,
                "keys_dir": tmp_path / "keys",
                "dsn": db.dsn,
                "s3_endpoint": s3.endpoint,
                "s3_access_key": s3.access_key,
                "s3_secret_key": s3.secret_key,
                "s3_bucket": bucket,
                "processor_address": to_processor,
                "loader_address": to_loader,
                "offers_address": "127.0.0.1:1",
                "searcher_address": "127.0.0.1:1",
                "secrets_file": secrets_file,
                "spool_dir": spool,
                "upload_limit_bytes": 200_000,
                "drain_notice_s": 0,
            }
            runner = build(ApiSettings(**{**values, **settings}))
            stub = FeedServiceStub(rpc_channel(address, caller="operator", audience="api"))
            api = Api(address, stub, processor, loader, CredentialCipher.load(secrets_file), spool, runner)
            await stack.enter_async_context(_running(runner.run(api.stop, roles), api.stop))
            await eventually(lambda: runner.is_ready)
            return api

        yield start


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    """Return an api that runs no pusher."""
    return await start_api(roles={"serve"})


@asynccontextmanager
async def _running(run: Any, stop: asyncio.Event) -> AsyncIterator[None]:
    task = asyncio.create_task(run)
    yield
    stop.set()
    assert await task == 0


async def eventually(happened: Callable[[], object], limit_s: float = 120) -> None:
    """Wait until it has happened."""
    async with asyncio.timeout(limit_s):
        while not happened():
            await asyncio.sleep(0.01)


@pytest.fixture(name="eventually")
def _eventually() -> Callable[..., Awaitable[None]]:
    return eventually


Refusal = tuple[grpc.StatusCode, str, list[str]]


@pytest.fixture
def refusal() -> Callable[[Awaitable[object]], Awaitable[Refusal]]:
    """Return code, reason and fields of the error of a call."""

    async def of(call: Awaitable[object]) -> Refusal:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        status = rpc_status.from_call(cast(grpc.Call, caught.value))
        assert status is not None
        reason, fields = "", list[str]()
        for detail in status.details:
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if detail.Unpack(info):
                reason = info.reason
            elif detail.Unpack(bad):
                fields = [violation.field for violation in bad.field_violations]
        return caught.value.code(), reason, fields

    return of
