"""The whole owner on real Kafka, killed in the middle: each batch is applied once, and replies arrive in order.

This file is also the process that the test kills: `python <this file> <json>`.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from classifeed.feeds.v1.load_pb2 import DISPOSITION_UNSPECIFIED
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, RunCheck, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import (
    BATCH_OUTCOME_APPLIED,
    BATCH_OUTCOME_REFUSED,
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_INCOMPLETE,
    OfferBatchResult,
    RunCheckResult,
    TaskEndResult,
)
from classifeed_common.db import Database
from classifeed_common.ids import process_holder
from classifeed_common.kafka import (
    Cluster,
    DeadLetters,
    GroupPartition,
    KafkaProducer,
    Message,
    NotifyingPositions,
    OrderedConsumer,
    Position,
    Record,
    dlq,
    message_of,
)
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import MakeTopic
from classifeed_jobs import JobStore, Reaper, Worker
from classifeed_offers.consumers.requests import RequestHandler
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import ApprovedBySetting
from classifeed_offers.jobs.sweep import QUEUE, SweepJobs, sweep_registry

if TYPE_CHECKING:  # the process that the test kills belongs to no package
    from ...conftest import Load, Owner, Records

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(1800)]


async def own(settings: dict[str, str]) -> None:
    """Run consumer, relay and sweeps, connected as in the bootstrap, on the test's topics."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    database = Database(settings["dsn"], schema="offers", application_name="owner", idle_in_transaction_s=3)
    await database.open()
    producer = KafkaProducer(settings["bootstrap"], client_id="owner")
    await producer.start()
    outbox = Outbox()
    registry = sweep_registry(outbox, guard=Guard(), results_topic=settings["results"])
    store = JobStore(default_lease_ttl_s=3, tasks=registry)
    sweeps = SweepJobs(store, guard=Guard())
    handler = RequestHandler(
        outbox=outbox,
        moderation=ApprovedBySetting(),
        sweeps=sweeps,
        guard=Guard(),
        results_topic=settings["results"],
    )
    consumer = OrderedConsumer(
        bootstrap=settings["bootstrap"],
        group=settings["requests"],
        topics=[settings["requests"]],
        positions=NotifyingPositions(database, outbox.wake),
        handle=handler.handle,
        refuse=handler.refuse,
        dead_letters=DeadLetters(producer),
        max_records=10,
        session_timeout_s=6,
        max_poll_interval_s=8,
    )
    relay = Relay(database, producer, Leases(database, process_holder("owner"), 1.0), outbox=outbox)
    worker = Worker(database, store, registry, queues={QUEUE: 2}, heartbeat_s=1)
    reaper = Reaper(database, registry, reaper_period_s=0.5)
    print("started", flush=True)  # noqa: T201 - the test waits for it
    await asyncio.gather(consumer.run(stop), relay.run(stop), worker.run(stop), reaper.run(stop))
    await producer.close()
    await database.close()


Key = tuple[str, int, int, int | str | None]
"""Seller, task, run, and the batch; "check" for the reply to a check, None for the reply to an end."""


class Results:
    """Reads the replies as the processor does."""

    def __init__(self) -> None:
        self.by_batch: dict[Key, set[bytes]] = defaultdict(set)
        self.ends: dict[Key, TaskEndResult] = {}
        self.checks: dict[Key, RunCheckResult] = {}
        self.order: list[Key] = []

    async def handle(self, _tx: None, records: Sequence[Record]) -> None:
        for record in records:
            key: Key
            if record.headers["type"] == OfferBatchResult.DESCRIPTOR.full_name.encode():
                result = OfferBatchResult.FromString(record.value)
                key = (result.seller_id, result.task_id, result.run, result.batch_id)
                self.by_batch[key].add(record.value)
            elif record.headers["type"] == RunCheckResult.DESCRIPTOR.full_name.encode():
                check = RunCheckResult.FromString(record.value)
                key = (check.seller_id, check.task_id, check.run, "check")
                self.checks[key] = check
            else:
                end = TaskEndResult.FromString(record.value)
                key = (end.seller_id, end.task_id, end.run, None)
                assert self.ends.setdefault(key, end) == end
            if key not in self.order:
                self.order.append(key)


class Memory:
    """Positions of the reading test: none are kept."""

    def __init__(self) -> None:
        self.at: dict[GroupPartition, Position] = {}

    place = "memory"

    async def load(self, parts: Collection[GroupPartition]) -> dict[GroupPartition, Position]:
        return {part: self.at[part] for part in parts if part in self.at}

    async def begin(self, starts: Mapping[GroupPartition, Position]) -> None:
        self.at = dict(starts) | self.at

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[None]:
        yield
        self.at.update(new)


@dataclass
class World:
    """Owners that a test starts on separate topics, and the replies of all of them."""

    settings: dict[str, str]
    producer: KafkaProducer
    processes: list[asyncio.subprocess.Process]
    replies: Results
    reading: asyncio.Task[None]

    @property
    def bootstrap(self) -> str:
        return self.settings["bootstrap"]

    @property
    def requests(self) -> str:
        return self.settings["requests"]

    async def start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(Path(__file__)), json.dumps(self.settings), stdout=asyncio.subprocess.PIPE
        )
        self.processes.append(process)
        assert process.stdout is not None
        assert await process.stdout.readline() == b"started\n"
        return process

    async def send(self, *messages: Message | OfferBatch | TaskEnd | RunCheck) -> None:
        await self.producer.send(
            [it if isinstance(it, Message) else message_of(self.requests, it.seller_id.encode(), it) for it in messages]
        )

    async def until(self, condition: Callable[[], bool], limit_s: float = 300) -> None:
        async with asyncio.timeout(limit_s):
            while not condition():
                assert not self.reading.done(), self.reading
                await asyncio.sleep(0.05)


@pytest.fixture
async def world(kafka: EmbeddedKafka, database: Database, make_topic: MakeTopic) -> AsyncIterator[World]:
    """Yield topics, a producer, the replies as they arrive, and a factory of owners; all end with the test."""
    requests, results = await make_topic("requests", partitions=2), await make_topic("results", partitions=2)
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    settings = {"dsn": database.dsn, "bootstrap": kafka.bootstrap, "requests": requests, "results": results}
    processes: list[asyncio.subprocess.Process] = []
    replies, stop = Results(), asyncio.Event()
    reader = OrderedConsumer(
        bootstrap=kafka.bootstrap,
        group=results,
        topics=[results],
        positions=Memory(),
        handle=replies.handle,
        dead_letters=None,
        assign_all=True,
    )
    reading = asyncio.create_task(reader.run(stop))

    yield World(settings, producer, processes, replies, reading)
    stop.set()
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.wait()
    await reading
    await producer.close()


async def test_killed_in_the_middle_every_batch_counts_once(
    world: World, owner: Owner, records: Records, new_load: type[Load]
) -> None:
    random = Random(7)
    sellers = [f"seller{number}" for number in range(3)]
    first = [new_load([records.good(str(n)) for n in range(2000)], seller=seller, batch_size=20) for seller in sellers]
    second = [
        new_load(
            [records.good(str(n), price=50 if n % 3 else 100) for n in range(500, 2500)],
            2,
            seller=seller,
            batch_size=20,
        )
        for seller in sellers
    ]
    replies = world.replies

    def is_past(batches: int, ends: int) -> Callable[[], bool]:
        return lambda: len(replies.by_batch) > batches or len(replies.ends) == ends

    def has_ends(count: int) -> Callable[[], bool]:
        return lambda: len(replies.ends) == count

    process = await world.start()
    for loads in (first, second):
        for load in loads:
            await world.send(*load.messages, *random.sample(load.messages, 5))
        want = len(loads) * (1 if loads is first else 2)
        for _ in range(2):
            done = len(replies.by_batch)
            await world.until(is_past(done + 30, want))
            process.kill()
            await process.wait()
            process = await world.start()
        await world.until(has_ends(want))
    process.terminate()
    assert await process.wait() == 0

    for load in (*first, *second):
        keys: list[Key] = [(load.seller, load.task, 1, batch.batch_id) for batch in load.batches]
        # Repeated replies are equal: the relay may send a reply twice, but a batch is applied only once.
        assert [len(replies.by_batch[key]) for key in keys] == [1] * len(keys)
        results = [OfferBatchResult.FromString(*replies.by_batch[key]) for key in keys]
        assert {result.outcome for result in results} == {BATCH_OUTCOME_APPLIED}
        end = replies.ends[load.seller, load.task, 1, None]
        assert end.outcome == TASK_END_OUTCOME_COMPLETED
        place = [replies.order.index(key) for key in [*keys, (load.seller, load.task, 1, None)]]
        assert place == sorted(place)
        if load.task == 1:
            assert (sum(result.counts.added for result in results), end.removed) == (2000, 0)
        else:
            total = [
                sum(getattr(result.counts, name) for result in results) for name in ("added", "updated", "unchanged")
            ]
            assert (total, end.removed) == ([500, 1000, 500], 500)
            given = {record.external_id: record.content.price.amount_micros // 1_000_000 for record in load.records}
            rows = await owner.rows(load)
            assert {name: row[3] for name, row in rows.items() if row[0] == "ACTIVE"} == given
            assert sum(row[0] == "REMOVED" for row in rows.values()) == 500


async def test_poison_stops_nobody_and_its_run_has_to_come_again(
    world: World, owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await world.start()
    good = new_load([records.good("a")], seller="good")
    load = new_load([records.good("a"), records.good("b")], seller="bad", batch_size=1)
    load.batches[1].records[0].content_hash = b"short"
    lost_end = new_load([records.good("a")], seller="unlucky")
    lost_end.end.disposition = DISPOSITION_UNSPECIFIED
    garbage = Message(world.requests, b"bad", b"\xff", {"type": b"no.such.Type"})

    await world.send(garbage, *load.messages, *lost_end.messages, *good.messages)
    await world.until(lambda: len(world.replies.ends) == 3)

    ends = {key[0]: end for key, end in world.replies.ends.items()}
    assert ends["good"].outcome == TASK_END_OUTCOME_COMPLETED
    assert (ends["bad"].outcome, list(ends["bad"].missing_batches)) == (TASK_END_OUTCOME_INCOMPLETE, [2])
    assert ends["unlucky"].outcome == TASK_END_OUTCOME_INCOMPLETE
    (refusal,) = world.replies.by_batch["bad", load.task, 1, 2]
    refused = OfferBatchResult.FromString(refusal)
    assert refused.outcome == BATCH_OUTCOME_REFUSED
    assert "content_hash" in refused.reason
    letters = (dlq(world.requests), 0)
    assert await Cluster(world.bootstrap, client_id="test").ends([letters]) == {letters: 3}
    assert await owner.alive(load) == {"a"}


async def test_a_window_of_refused_batches_is_answered_to_the_last(
    world: World, records: Records, new_load: type[Load]
) -> None:
    """The sender waits for 96 replies before it continues: with dead letters alone it would wait for ever."""
    await world.start()
    load = new_load([records.good(str(number)) for number in range(96)], seller="skewed", batch_size=1)
    for batch in load.batches:
        batch.records[0].content_hash = b"short"
    check = RunCheck(seller_id="skewed", namespace=load.end.namespace, task_id=load.task, run=1, last_batch_id=96)

    await world.send(*load.messages[:-1], check)
    await world.until(lambda: bool(world.replies.checks))

    keys: list[Key] = [("skewed", load.task, 1, batch.batch_id) for batch in load.batches]
    outcomes = {OfferBatchResult.FromString(value).outcome for key in keys for value in world.replies.by_batch[key]}
    assert outcomes == {BATCH_OUTCOME_REFUSED}
    assert world.replies.order[-1] == ("skewed", load.task, 1, "check")
    assert world.replies.order[:-1] == keys


if __name__ == "__main__":
    asyncio.run(own(json.loads(sys.argv[1])))
