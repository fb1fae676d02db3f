from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka import Message as KafkaMessage

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2, offer_results_pb2, task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, RunCheck, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import (
    LateResult,
    OfferBatchResult,
    OfferCounts,
    RunCheckResult,
    TaskEndResult,
)
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.kafka import DeadLetters, KafkaProducer, OrderedConsumer, message_of
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.topics import MakeTopic
from classifeed_jobs import JobStore, Reaper, Worker
from classifeed_jobs import Task as JobTask
from classifeed_processor.app.runs.limit_sellers import SellerWindows
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.app.tasks.create_task import QUEUE, create_task
from classifeed_processor.consumers.results import NotifyingPositions, ResultHandler
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.jobs.feed_process import registry
from classifeed_processor.store import reading

from ..conftest import WriteOffer, WriteYml
from .inline import BROKEN, GOOD, PAGE, Blobs, Owner, Runner

Request = OfferBatch | TaskEnd | RunCheck
Reply = OfferBatchResult | TaskEndResult | RunCheckResult
_TYPES = {cls.DESCRIPTOR.full_name: cls for cls in (OfferBatch, TaskEnd, RunCheck)}
SELLER = "shop"
BUCKET = "processor-test"


UNKNOWN_OUTCOME = 77


def _request_of(message: KafkaMessage) -> Request:
    kind, value = dict(message.headers() or [])["type"], message.value()
    assert isinstance(kind, bytes)
    assert value is not None
    return _TYPES[kind.decode()].FromString(value)


@dataclass
class ScriptedOwner:
    """The service offers according to the protocol, with faults on demand.

    `log` has all requests in the order of the topic. Faults refer to runs by their number within the task, from 1:
    `loses` are batches (run, number) that it ignores, and `refuses` are batches that it refuses. `swallows` are
    requests that it applies, but whose first reply is lost: batches by their numbers, ends as 0, checks as -1.
    `babbles` are, in the same way, requests that it replies to once with an unknown outcome. `paused` stops its reads,
    and `ignores_ends` makes it ignore the ends of runs.
    """

    bootstrap: str
    requests: str
    results: str
    log: list[Request] = field(default_factory=list)
    loses: set[tuple[int, int]] = field(default_factory=set)
    refuses: set[tuple[int, int]] = field(default_factory=set)
    swallows: set[tuple[int, int]] = field(default_factory=set)
    babbles: set[tuple[int, int]] = field(default_factory=set)
    end_outcome: offer_results_pb2.TaskEndOutcome = offer_results_pb2.TASK_END_OUTCOME_COMPLETED
    seller: str = SELLER
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    ignores_ends: asyncio.Event = field(default_factory=asyncio.Event)
    ignored: list[Request] = field(default_factory=list)
    offers: dict[str, bytes] = field(default_factory=dict)
    _runs: dict[tuple[int, int], dict[int, bytes]] = field(default_factory=dict)
    _replies: dict[tuple[int, int, int], tuple[bytes, Reply]] = field(default_factory=dict)
    _order: dict[int, list[int]] = field(default_factory=dict)
    _head: tuple[int, int] = (0, 0)
    _seen: set[str] = field(default_factory=set)

    async def run(self, stop: asyncio.Event) -> None:
        producer = KafkaProducer(self.bootstrap, client_id="owner")
        await producer.start()
        consumer = self._consumer()
        try:
            while not stop.is_set():
                if self.paused.is_set():
                    await asyncio.sleep(0.05)
                    continue
                for message in await asyncio.to_thread(consumer.consume, 100, 0.05):
                    assert message.error() is None
                    request = _request_of(message)
                    assert message.key() == request.seller_id.encode()
                    if request.seller_id != self.seller:
                        continue
                    if isinstance(request, TaskEnd) and self.ignores_ends.is_set():
                        self.ignored.append(request)
                        continue
                    if (reply := self.take(request)) is not None:
                        # At least once: everything is sent twice.
                        await producer.send([message_of(self.results, message.key(), reply)] * 2)
        finally:
            consumer.close()
            await producer.close()

    def _consumer(self) -> Consumer:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "owner", "enable.auto.commit": False})
        partitions = consumer.list_topics(self.requests, 60).topics[self.requests].partitions
        consumer.assign([TopicPartition(self.requests, number, OFFSET_BEGINNING) for number in partitions])
        return consumer

    def count_requests(self) -> int:
        """Return the number of the seller's requests on the topic, read or not."""
        consumer = self._consumer()
        try:
            ends = {p.partition: consumer.get_watermark_offsets(p, 60)[1] for p in consumer.assignment()}
            left = {partition for partition, end in ends.items() if end > 0}
            count = 0
            while left:
                for message in consumer.consume(1000, 1):
                    assert message.error() is None
                    count += message.key() == self.seller.encode()
                    partition, offset = message.partition(), message.offset()
                    assert partition is not None
                    assert offset is not None
                    if offset + 1 >= ends[partition]:
                        left.discard(partition)
            return count
        finally:
            consumer.close()

    def take(self, request: Request) -> Reply | None:
        self.log.append(request)
        order = self._order.setdefault(request.task_id, [])
        if request.run not in order:
            order.append(request.run)
        address: dict[str, Any] = {
            name: getattr(request, name) for name in ("seller_id", "namespace", "task_id", "run")
        }
        nth = order.index(request.run) + 1
        if isinstance(request, RunCheck):
            return self._say((nth, -1), RunCheckResult(**address, last_batch_id=request.last_batch_id))
        number = request.batch_id if isinstance(request, OfferBatch) else 0
        kept = (request.task_id, request.run, number)
        digest, reply = self._replies.get(kept, (request.digest, None))
        assert digest == request.digest, "one number stands for two batches"
        if reply is None:
            reply = self.reply(request, address, (nth, number))
            if reply is not None:
                self._replies[kept] = (digest, reply)
        return self._say((nth, number), reply)

    def _say(self, fault: tuple[int, int], reply: Reply | None) -> Reply | None:
        if fault in self.swallows:
            self.swallows.discard(fault)
            return None
        if fault in self.babbles and isinstance(reply, OfferBatchResult | TaskEndResult):
            self.babbles.discard(fault)
            strange = type(reply).FromString(reply.SerializeToString())
            strange.outcome = UNKNOWN_OUTCOME  # type: ignore[assignment]
            return strange
        return reply

    def reply(self, request: OfferBatch | TaskEnd, address: dict[str, Any], fault: tuple[int, int]) -> Reply | None:
        run = (request.task_id, request.run)
        stale = run < self._head
        if run > self._head:
            self._head = run
            self._seen = set()
        if isinstance(request, OfferBatch):
            if fault in self.loses:
                return None
            result = OfferBatchResult(**address, batch_id=request.batch_id)
            if stale:
                result.outcome = offer_results_pb2.BATCH_OUTCOME_STALE
                return result
            if fault in self.refuses:
                result.outcome = offer_results_pb2.BATCH_OUTCOME_REFUSED
                result.reason = "it is too large for me"
                return result
            result.outcome = offer_results_pb2.BATCH_OUTCOME_APPLIED
            self._runs.setdefault(run, {})[request.batch_id] = request.digest
            self._apply(request, result.counts)
            for record in request.records:
                result.errors.extend(record.errors)
            return result
        end = TaskEndResult(**address)
        got = self._runs.get(run, {})
        if stale:
            end.outcome = offer_results_pb2.TASK_END_OUTCOME_STALE
            return end
        digest = hashlib.blake2b(b"".join(got[number] for number in sorted(got)), digest_size=16).digest()
        if len(got) != request.batch_count or digest != request.digest:
            end.outcome = offer_results_pb2.TASK_END_OUTCOME_INCOMPLETE
            end.missing_batches.extend(n for n in range(1, request.batch_count + 1) if n not in got)
            return end
        end.outcome = self.end_outcome
        missing = self.offers.keys() - self._seen
        if end.outcome == offer_results_pb2.TASK_END_OUTCOME_COMPLETED:
            end.removed = len(missing)
            for external_id in missing:
                del self.offers[external_id]
        return end

    def _apply(self, batch: OfferBatch, counts: OfferCounts) -> None:
        for record in batch.records:
            if record.kind == offer_requests_pb2.RECORD_KIND_DUPLICATE:
                counts.duplicates += 1
                continue
            self._seen.add(record.external_id)
            if any(error.level == load_pb2.ISSUE_LEVEL_ERROR for error in record.errors):
                counts.rejected_validation += 1
            elif record.external_id not in self.offers:
                counts.added += 1
            elif self.offers[record.external_id] != record.content_hash:
                counts.updated += 1
            else:
                counts.unchanged += 1
            if record.content_hash and not any(e.level == load_pb2.ISSUE_LEVEL_ERROR for e in record.errors):
                self.offers[record.external_id] = record.content_hash

    def runs(self) -> list[tuple[int, int]]:
        """Return the runs in the order in which they were seen, each as its task and its number within the task."""
        runs = dict.fromkeys((request.task_id, request.run) for request in self.log)
        return [(task_id, self._order[task_id].index(run) + 1) for task_id, run in runs]

    def assert_ends_are_last(self) -> None:
        """Check that no batch of a run comes after its end, and that batches are in order without gaps."""
        ended: set[tuple[int, int]] = set()
        last: dict[tuple[int, int], int] = {}
        for request in self.log:
            run = (request.task_id, request.run)
            if isinstance(request, TaskEnd):
                assert request.batch_count == last.get(run, 0)
                ended.add(run)
            elif isinstance(request, OfferBatch):
                assert run not in ended, f"a batch of {run} came after its end"
                assert request.batch_id == last.get(run, 0) + 1
                last[run] = request.batch_id


@dataclass
class Scene:
    """The roles of a processor in this process, on the test's topics, with a fake of the service offers.

    Attributes:
        consumer: makes the consumer of the replies.
        folder: folder of the test.
        settings: settings of processors that are separate processes.
    """

    database: Database
    blobs: BlobStore
    owner: ScriptedOwner
    parts: RunParts
    jobs: JobStore
    consumer: Callable[[], OrderedConsumer[Any]]
    yml: WriteYml
    offer: WriteOffer
    folder: Path
    settings: dict[str, str]
    job_tasks: Mapping[str, JobTask] = field(default_factory=lambda: registry)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    def limit(self, window_batches: int = 100, stall_s: float = 30.0) -> None:
        """Set the limits of runs."""
        self.parts = replace(self.parts, windows=SellerWindows(window_batches), stall_s=stall_s)

    def environment(self, **settings: str) -> dict[str, str]:
        """Return the environment of a processor that is a separate process."""
        return {f"CLASSIFEED_PROCESSOR_{name}": value for name, value in (self.settings | settings).items()}

    def offers(self, count: int, name: str = "a") -> list[str]:
        """Return offers a0, a1, and so on."""
        return [self.offer(f"{name}{number}") for number in range(count)]

    async def put(self, content: bytes) -> str:
        """Store a file and return its hash."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self.folder / sha256
        path.write_bytes(content)
        await self.blobs.put_file(path, sha256)
        return sha256

    async def file(self, *offers: str) -> str:
        """Store a file with these offers and return its hash."""
        return await self.put(self.yml(*offers))

    async def upload(self, *offers: str, upload_id: str = "") -> TaskKey:
        """Create the task of a file with these offers."""
        return await self.create(await self.file(*offers), upload_id)

    async def load(self, *offers: str, upload_id: str = "") -> Task:
        """Upload a file with these offers and return its completed task."""
        return await self.wait_end(await self.upload(*offers, upload_id=upload_id))

    async def create(self, sha256: str, upload_id: str = "", **fields: Any) -> TaskKey:
        return await self.make(upload_id=upload_id or sha256[:8], source_sha256=sha256, **fields)

    async def make(self, **fields: Any) -> TaskKey:
        request = CreateTaskRequest(**{"seller_id": self.owner.seller, "namespace": "default"} | fields)
        return await create_task(self.database, self.jobs, request, timeout_s=60)

    def start(self, *, work: bool = True, results: bool = True, owner: bool = True) -> None:
        self._stop = asyncio.Event()
        if work:
            worker = Worker(
                self.database, self.jobs, self.job_tasks, queues={QUEUE: 4}, resources=self.parts, heartbeat_s=1,
                claim_backoff_s=0.5, drain_grace_s=1,
            )  # fmt: skip
            self._tasks.append(asyncio.create_task(worker.run(self._stop)))
            self._tasks.append(
                asyncio.create_task(Reaper(self.database, registry, reaper_period_s=0.5).run(self._stop))
            )
        if results:
            self._tasks.append(asyncio.create_task(self.consumer().run(self._stop)))
        if owner:
            self._tasks.append(asyncio.create_task(self.owner.run(self._stop)))

    async def stop(self) -> None:
        self._stop.set()
        tasks, self._tasks = self._tasks, []
        await asyncio.gather(*tasks)

    async def take(self, *results: Reply | LateResult) -> set[TaskKey]:
        """Apply results of the service offers."""
        async with self.database.transaction() as tx:
            return await take_results(tx, self.jobs, results)

    async def sql(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            cursor = await connection.execute(statement, parameters)
            return await cursor.fetchall() if cursor.description else []

    async def task(self, key: TaskKey) -> Task:
        async with self.database.transaction() as tx:
            task = await reading.find_task(tx, key)
        assert task is not None
        statistics = task.statistics
        assert statistics.total == sum(
            getattr(statistics, name)
            for name in (
                "added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates",
            )
        )  # fmt: skip
        return task

    async def wait(self, key: TaskKey, until: Callable[[Task], bool], limit_s: float = 150) -> Task:
        async with asyncio.timeout(limit_s):
            while not until(task := await self.task(key)):
                for running in self._tasks:
                    if running.done():
                        running.result()
                await asyncio.sleep(0.05)
        return task

    async def wait_end(self, key: TaskKey, limit_s: float = 150) -> Task:
        return await self.wait(key, lambda task: task.phase == task_pb2.TASK_PHASE_DONE, limit_s)


@pytest.fixture
async def scene(
    migrated_database: MigratedDatabase,
    kafka: EmbeddedKafka,
    make_topic: MakeTopic,
    s3: EmbeddedS3,
    yml: WriteYml,
    offer: WriteOffer,
    tmp_path: Path,
) -> AsyncIterator[Scene]:
    database = await migrated_database("classifeed_processor", "processor", max_size=8)
    requests, results = await make_topic("requests"), await make_topic("results")
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    blobs = BlobStore(endpoint=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key, bucket=BUCKET)
    await blobs.open()
    signals = TaskSignals()
    spool_dir, windows = tmp_path / "spool", SellerWindows(100)
    parts = RunParts(blobs, producer, JobStore(), signals, requests, spool_dir, windows, 30.0)

    def consumer() -> OrderedConsumer[Any]:
        handler = ResultHandler(JobStore())
        return OrderedConsumer(
            bootstrap=kafka.bootstrap,
            group=f"{results}-group",
            topics=[results],
            positions=NotifyingPositions(database, handler, signals),
            handle=handler.handle,
            dead_letters=DeadLetters(producer),
        )

    owner = ScriptedOwner(kafka.bootstrap, requests, results)
    settings = {
        "DSN": database.dsn,
        "KAFKA_BOOTSTRAP": kafka.bootstrap,
        "S3_ENDPOINT": s3.endpoint,
        "S3_ACCESS_KEY": s3.access_key,
        "S3_SECRET_KEY": s3.secret_key,
        "S3_BUCKET": BUCKET,
        "SPOOL_DIR": str(spool_dir),
        "DRAIN_GRACE_S": "3",
    }
    jobs = JobStore(tasks=registry)
    scene = Scene(database, blobs, owner, parts, jobs, consumer, yml, offer, tmp_path, settings)
    yield scene
    for close in (scene.stop, producer.close, blobs.close):
        with suppress(asyncio.CancelledError):
            await close()


@pytest.fixture
async def runner(migrated_database: MigratedDatabase, yml: WriteYml, offer: WriteOffer, tmp_path: Path) -> Runner:
    database = await migrated_database("classifeed_processor", "processor")
    owner = Owner(database)
    blobs = Blobs({GOOD: yml(offer("a"), offer("b")), BROKEN: b"<yml_catalog><shop>", PAGE: b"<html>Log in</html>"})
    return Runner(
        database,
        owner,
        RunParts(blobs, owner, JobStore(), TaskSignals(), "requests", tmp_path / "spool", SellerWindows(10)),
    )
