"""LocateOffer over real gRPC, PostgreSQL and S3: the places of an offer in the file of a task, and its batch."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch
from classifeed.feeds.v1.offer_results_pb2 import BATCH_OUTCOME_APPLIED, OfferBatchResult
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest, LocateOfferRequest, OfferLocation
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_devkit.testing.stores import make_store
from classifeed_feeds.batches import RunAddress
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.second_pass import read_batches
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.source.source import SourceFile, open_source
from classifeed_jobs import JobStore
from classifeed_processor.app import locate_offer as locating
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.rpc.task_service import task_servicer
from classifeed_processor.store import tasks

from ...conftest import WriteOffer, WriteYml


class CountingBlobs(BlobStore):
    """The real store; while `gate` is closed, reads block."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self.gate = asyncio.Event()
        self.gate.set()
        self.fetches = 0

    async def fetch(self, sha256: str, target: Path) -> int:
        self.fetches += 1
        await self.gate.wait()
        return await self._blobs.fetch(sha256, target)


@dataclass
class Service:
    database: Database
    blobs: BlobStore
    counting: CountingBlobs
    stub: TaskServiceStub
    folder: Path
    locate_offer: LocateOffer

    async def load(self, content: bytes, **fields: Any) -> TaskKey:
        sha256 = hashlib.sha256(content).hexdigest()
        path = self.folder / sha256
        path.write_bytes(content)
        await self.blobs.put_file(path, sha256)
        return await self.task(upload_id=sha256[:8], source_sha256=sha256, **fields)

    async def task(self, **fields: Any) -> TaskKey:
        request = CreateTaskRequest(seller_id="shop", namespace="default", **fields)
        return await create_task(self.database, JobStore(), request, timeout_s=60)

    async def locate(self, key: TaskKey, external_id: str, timeout_s: float = 60) -> OfferLocation:
        request = LocateOfferRequest(parent=key.name, external_id=external_id)
        return await self.stub.LocateOffer(request, timeout=timeout_s)

    def spooled(self) -> list[Path]:
        return list((self.folder / "spool").glob("*"))


@pytest.fixture
async def service(
    migrated_database: MigratedDatabase,
    rpc_server: StartServer,
    rpc_channel: OpenChannel,
    s3: EmbeddedS3,
    tmp_path: Path,
) -> AsyncIterator[Service]:
    database = await migrated_database("classifeed_processor", "processor")
    blobs = make_store(s3)
    await blobs.open()
    counting = CountingBlobs(blobs)
    locate_offer = LocateOffer(database, counting, tmp_path / "spool")
    servicer = task_servicer(
        database, JobStore(), blobs, ExportIssues(ReadIssues(database, blobs), tmp_path / "spool"), locate_offer
    )
    stub = TaskServiceStub(rpc_channel(await rpc_server("processor", servicer), caller="api", audience="processor"))
    yield Service(database, blobs, counting, stub, tmp_path, locate_offer)
    await blobs.close()


async def test_an_offer_is_found_with_its_places_and_its_batch(
    service: Service, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    content = yml(*(offer(f"a{n}", description="текст\n" * (n % 3)) for n in range(950)), offer("a7"), offer(""))
    key = await service.load(content)
    batches: dict[str, int] = {}
    scan = scan_feed(open_source(tmp_path / hashlib.sha256(content).hexdigest(), DEFAULT_LIMITS), tmp_path)
    address = RunAddress(*key, 1, load_pb2.LOAD_MODE_REPLACE)
    sealed = list(read_batches(scan, address))
    for batch in sealed:
        for record in OfferBatch.FromString(batch.value).records:
            batches[record.external_id] = batch.batch_id
    assert len(sealed) == 10
    before = await service.locate(key, "a7")
    assert (len(before.places), before.batch_id, before.HasField("send_time")) == (2, 0, False)
    assert not before.HasField("check_time")

    async with service.database.transaction() as tx:
        # An interrupted earlier run does not count.
        await tasks.insert_batches(tx, key, await tasks.begin_run(tx, key, b""), [(1, 1000)])
        run = await tasks.begin_run(tx, key, b"")
        await tasks.insert_batches(tx, key, run, [(batch.batch_id, batch.records) for batch in sealed[:-1]])
        reply = OfferBatchResult(
            seller_id="shop", namespace="default", task_id=key.task_id, run=run, batch_id=1,
            outcome=BATCH_OUTCOME_APPLIED,
        )  # fmt: skip
        await take_results(tx, JobStore(), [reply])
    for external_id in ("a0", "a99", "a100", "a499", "a500", "a899", "a900"):
        found = await service.locate(key, external_id)
        (place,) = found.places
        expected = batches[external_id] if batches[external_id] < 10 else 0
        assert (external_id, found.batch_id, found.HasField("send_time")) == (external_id, expected, expected > 0)
        assert found.HasField("answer_time") == (expected == 1)
        assert content.decode().split("\n")[place.line - 1][place.column - 1 :].startswith(f'<offer id="{external_id}"')
        assert place.excerpt.startswith(f'<offer id="{external_id}"><name>')
        assert len(place.excerpt) <= 200
    twice = await service.locate(key, " a7 ")
    assert [place.ordinal for place in twice.places] == [8, 951]
    assert twice.batch_id == batches["a7"] == 1
    nobody = await service.locate(key, "nobody")
    assert nobody == OfferLocation(check_time=nobody.check_time)
    assert service.spooled() == []
    async with service.database.transaction() as tx:
        query = "SELECT min(sent_at) FROM offer_batches WHERE task_id = %s AND run = %s"
        ((first_sent,),) = await (await tx.execute(query, [key.task_id, run])).fetchall()
    # The check time of the file is the same for all of its offers, and for a missing one.
    for found in (nobody, twice, await service.locate(key, "a899"), await service.locate(key, "a900")):
        assert found.check_time.ToDatetime(UTC) == first_sent


async def test_of_a_file_that_failed_the_readable_part_is_searched(
    service: Service, yml: WriteYml, offer: WriteOffer
) -> None:
    content = yml(*(offer(f"a{n}") for n in range(50)))
    key = await service.load(content[: content.index(b'<offer id="a40"')])
    async with service.database.transaction() as tx:
        fault = FeedFault("MALFORMED_XML", "The file is cut off", line=40)
        await tasks.end_task(tx, key, task_pb2.TASK_STATUS_FAILED, fault)
    assert [place.ordinal for place in (await service.locate(key, "a39")).places] == [40]
    assert await service.locate(key, "a41") == OfferLocation()
    for number, other in enumerate((b"<html><body>404</body></html>", b"PK\x03\x04broken", b"")):
        assert await service.locate(await service.load(other, file_name=str(number)), "a1") == OfferLocation()


async def test_what_cannot_be_searched_is_refused_with_its_reason(service: Service) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.locate(TaskKey("shop", "default", 7), "a")
    assert (caught.value.code(), from_rpc_error(caught.value).reason) == (grpc.StatusCode.NOT_FOUND, "TASK_NOT_FOUND")
    for key in (
        await service.task(upload_id="gone", source_sha256="ef" * 32),
        await service.task(kind=task_pb2.TASK_KIND_DELETE, feed_version=1),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.locate(key, "a")
        assert (caught.value.code(), from_rpc_error(caught.value).reason) == (
            grpc.StatusCode.FAILED_PRECONDITION,
            "SOURCE_GONE",
        )
    assert service.spooled() == []


async def test_one_file_is_read_at_a_time_and_the_others_wait_till_their_deadline(
    service: Service, yml: WriteYml, offer: WriteOffer
) -> None:
    key = await service.load(yml(offer("a")))
    service.counting.gate.clear()
    first = asyncio.create_task(service.locate(key, "a"))
    async with asyncio.timeout(90):
        while not service.counting.fetches:
            await asyncio.sleep(0.01)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.locate(key, "a", timeout_s=0.3)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    async with asyncio.timeout(90):  # the server cancels the call a moment later than the caller
        while any(not waiter.done() for waiter in service.locate_offer._reading._waiters or ()):
            await asyncio.sleep(0.01)
    patient = asyncio.create_task(service.locate(key, "a"))
    service.counting.gate.set()
    assert len((await first).places) == len((await patient).places) == 1
    assert service.counting.fetches == 2


async def test_a_cancelled_call_stops_reading_and_gives_its_turn_away(
    service: Service, yml: WriteYml, offer: WriteOffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await service.load(yml(offer("a")))
    started, ended = threading.Event(), threading.Event()

    def read_for_ever(source: SourceFile, spool_dir: Path, external_id: str) -> None:
        started.set()
        try:
            while True:
                with source.open() as stream:
                    while stream.read(1 << 10):
                        pass
        finally:
            ended.set()

    with monkeypatch.context() as patch:
        patch.setattr(locating, "locate_offer", read_for_ever)
        call = service.stub.LocateOffer(LocateOfferRequest(parent=key.name, external_id="a"))
        waiting = asyncio.ensure_future(call)
        assert await asyncio.to_thread(started.wait, 90)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(ended.wait, 90)
    assert len((await service.locate(key, "a")).places) == 1
    assert service.spooled() == []
