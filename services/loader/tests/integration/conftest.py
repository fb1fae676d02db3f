from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from classifeed.feeds.v1 import feed_pb2, load_pb2
from classifeed.feeds.v1.feed_pb2 import FeedSourceState, Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import (
    GetSourceStatesRequest,
    ListFetchesRequest,
    PutSourcesRequest,
    RunSourceRequest,
    SourceRecord,
)
from classifeed.feeds.v1.feed_source_service_pb2_grpc import (
    FeedSourceServiceStub,
    add_FeedSourceServiceServicer_to_server,
)
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.lease import Lease, Leases
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_jobs import JobStore
from classifeed_loader.app.complete_fetch import FetchWaits
from classifeed_loader.app.schedule_fetches import LEASE, schedule_due
from classifeed_loader.jobs.feed_fetch import fetch_registry
from classifeed_loader.rpc.feed_source_service import FeedSourceService

MIN_INTERVAL_S = 600


MakeSource = Callable[..., SourceRecord]
JOB_TASKS = fetch_registry(FetchWaits(MIN_INTERVAL_S, 60))


def make_source(**fields: Any) -> SourceRecord:
    """Return an ACTIVE source of version 1, with fields replaced."""
    record = SourceRecord(
        seller_id="shop",
        namespace="default",
        feed_version=1,
        status=feed_pb2.FEED_STATUS_ACTIVE,
        url="http://127.0.0.1:1/feed.xml",
        mode=load_pb2.LOAD_MODE_REPLACE,
        disposition=load_pb2.DISPOSITION_DELETE,
    )
    record.interval.FromSeconds(fields.pop("interval_s", 3600))
    for name, value in fields.items():
        setattr(record, name, value)
    return record


@dataclass
class Loader:
    """The gRPC service of a loader with a separate database, and changes of its rows by tests."""

    database: Database
    target: str
    stub: FeedSourceServiceStub
    jobs: JobStore
    wakes: list[None]

    async def put(self, *sources: SourceRecord) -> list[int]:
        return list((await self.stub.PutSources(PutSourcesRequest(sources=sources))).feed_versions)

    async def run(self, record: SourceRecord, *, force: bool = False, request_id: str = "") -> Fetch:
        request = RunSourceRequest(source=record, force=force, request_id=request_id or str(uuid4()))
        return await self.stub.RunSource(request)

    async def state(self, namespace: str = "default", seller: str = "shop") -> FeedSourceState:
        request = GetSourceStatesRequest(names=[f"sellers/{seller}/feeds/{namespace}"])
        [state] = (await self.stub.GetSourceStates(request)).states
        return state

    async def fetches(self, namespace: str = "default") -> list[Fetch]:
        """Return all fetches of a namespace, newest first."""
        response = await self.stub.ListFetches(ListFetchesRequest(parent=f"sellers/shop/feeds/{namespace}"))
        return list(response.fetches)

    async def lease(self) -> tuple[Leases, Lease]:
        leases = Leases(self.database, f"holder-{uuid4()}", 30)
        async with self.database.transaction() as tx:
            await leases.revoke(tx, LEASE)
        lease = await leases.acquire(LEASE)
        assert lease is not None
        return leases, lease

    async def schedule(self, limit: int = 200) -> int:
        """Run one round of a scheduler."""
        leases, lease = await self.lease()
        return await schedule_due(self.database, leases, self.jobs, lease, min_interval_s=MIN_INTERVAL_S, limit=limit)

    async def sql(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            cursor = await connection.execute(statement, parameters)
            return await cursor.fetchall() if cursor.description else []

    async def make_due(self, namespace: str = "default", *, ago_s: float = 1) -> None:
        await self.sql(
            "UPDATE feed_loader_task SET next_due_at = clock_timestamp() - make_interval(secs => %s)"
            " WHERE namespace = %s",
            ago_s,
            namespace,
        )

    async def has_slot(self, namespace: str = "default") -> bool:
        """Return whether a source has a due time."""
        [[is_due]] = await self.sql(
            "SELECT next_due_at IS NOT NULL FROM feed_loader_task WHERE namespace = %s", namespace
        )
        return bool(is_due)

    async def due_in_s(self, namespace: str = "default") -> float:
        [[seconds]] = await self.sql(
            "SELECT extract(epoch FROM next_due_at - clock_timestamp())::float8 FROM feed_loader_task"
            " WHERE namespace = %s",
            namespace,
        )
        assert isinstance(seconds, float), f"{namespace} is never due"
        return seconds

    async def queued(self) -> list[str]:
        """Return the names of the fetches whose jobs wait, in the order of execution."""
        rows = await self.sql("SELECT idempotency_key FROM dl_jobs ORDER BY priority, created_at")
        return [name for (name,) in rows]


@pytest.fixture
def source() -> MakeSource:
    return make_source


@pytest.fixture
async def loader(migrated_database: MigratedDatabase, rpc_server: StartServer, rpc_channel: OpenChannel) -> Loader:
    database = await migrated_database("classifeed_loader", "loader", max_size=8)
    jobs = JobStore(tasks=JOB_TASKS)
    wakes: list[None] = []
    service = FeedSourceService(database, jobs, min_interval_s=MIN_INTERVAL_S, on_change=lambda: wakes.append(None))
    target = await rpc_server("loader", Servicer.of(add_FeedSourceServiceServicer_to_server, service))
    stub = FeedSourceServiceStub(rpc_channel(target, caller="api", audience="loader"))
    return Loader(database, target, stub, jobs, wakes)


@pytest.fixture
def bucket() -> str:
    return f"t-{secrets.token_hex(6)}"


@pytest.fixture
async def blobs(s3: EmbeddedS3, bucket: str) -> AsyncIterator[BlobStore]:
    store = BlobStore(endpoint=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key, bucket=bucket)
    await store.open()
    yield store
    await store.close()
