"""The roles before the registry: each processes the same backlog with a number of processes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final

from confluent_kafka import KafkaException

from bench.scale.backlog import NAMESPACE, Backlog
from bench.scale.installation import Installation
from bench.scale.measuring import Span, measured, until
from classifeed.feeds.v1.task_pb2 import TASK_KIND_LOAD
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.kafka import Cluster, KafkaProducer, Message
from classifeed_common.kafka.topics.growth import TopicGrowth
from classifeed_common.rpc.client import open_channel
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, declared

_LOADS: Final = "loads"


def apply_batches(running: Installation, backlog: Backlog, count: int, revision: int) -> Span:
    """Measure consumers of offers that apply a load of each seller in which every offer is new or changed."""
    messages = backlog.requests(revision)
    with running.workers("offers", count, "work", "--role", "consume") as workers:
        _await_members(running, "offers", count)
        with measured(running, backlog.sizes.offers, workers) as span:
            send(running, messages)
            applied = "SELECT count(*) FROM applied_batches WHERE namespace = %s AND task_id = %s"
            until(
                lambda: running.number("offers", applied, NAMESPACE, revision) == len(messages), "batches are applied"
            )
    return span


def grow_requests(running: Installation, partitions: int) -> None:
    """Grow the topic of requests to `partitions`, as `migrate --grow` does; nothing may read or send meanwhile."""

    async def grow() -> None:
        database = Database(running.plan.dsn("offers"), schema="offers", application_name="bench")
        await database.open()
        try:
            growth = TopicGrowth(Cluster(running.kafka, client_id="bench"), database, quiet_s=0.1, settle_s=0.1)
            await growth.grow(replace(declared(FEEDS_OFFER_REQUESTS), partitions=partitions), frozenset(["offers"]))
        finally:
            await database.close()

    asyncio.run(grow())


def process_feeds(running: Installation, backlog: Backlog, count: int, revision: int) -> Span:
    """Measure processors that read an unchanged file of each seller; one process of offers replies."""
    with ExitStack() as stack:
        [offers] = stack.enter_context(running.workers("offers", 1, "work"))
        [serving] = stack.enter_context(running.workers("processor", 1, "serve"))
        workers = stack.enter_context(running.workers("processor", count, "work"))
        _await_members(running, "processor", count)
        with measured(running, backlog.sizes.offers, workers, {"offers": [offers], "serving": [serving]}) as span:
            asyncio.run(_create_tasks(running, serving.grpc, backlog, revision))
            until(lambda: running.number("processor", "SELECT count(*) FROM tasks WHERE ended_at IS NULL") == 0,
                  "tasks end")  # fmt: skip
    ended = "SELECT count(*) FROM tasks WHERE status = 3 AND upload_id LIKE %s"
    if running.number("processor", ended, f"{revision}-%") != backlog.sizes.sellers:
        raise RuntimeError("not every load has completed")
    return span


def publish(running: Installation, backlog: Backlog, count: int, _revision: int) -> Span:
    """Measure publishers of offers that push every document again to one receiver."""
    connection = running.connection("offers")
    with ExitStack() as stack:
        [receiver] = stack.enter_context(running.workers("receiver", 1))
        workers = stack.enter_context(
            running.workers("offers", count, "work", "--role", "publish", RECEIVER_ADDRESS=receiver.grpc)
        )
        due = "SELECT count(*) FROM offers WHERE namespace = %s AND version > published_version"
        until(lambda: running.number("offers", due, NAMESPACE) == 0, "due offers are published")
        with connection.transaction():
            connection.execute(b"UPDATE offers SET published_version = 0 WHERE namespace = %s", [NAMESPACE])
            span = stack.enter_context(measured(running, backlog.sizes.offers, workers, {"receiver": [receiver]}))
        until(lambda: running.number("offers", due, NAMESPACE) == 0, "everything is published again")
    return span


def send(running: Installation, messages: Sequence[Message]) -> None:
    """Send messages, and return once they are acknowledged."""

    async def work() -> None:
        producer = KafkaProducer(running.kafka, client_id="bench")
        await producer.start()
        await producer.send(messages, limit_s=120)
        await producer.close()

    asyncio.run(work())


def members(running: Installation, group: str) -> list[int]:
    """Return the number of partitions of each member of a consumer group; [] before the broker knows the group."""
    try:
        found = running.admin.describe_consumer_groups([group], request_timeout=10)[group].result()
    except KafkaException:
        return []
    return [len(member.assignment.topic_partitions) for member in found.members]


def _await_members(running: Installation, group: str, count: int) -> None:
    """Return once `count` members of a group share all partitions of its topic, each with at least one."""

    def is_shared() -> bool:
        shares = members(running, group)
        return len(shares) == count and min(shares) > 0

    until(is_shared, f"{count} members of {group} share the partitions")


async def _create_tasks(running: Installation, address: str, backlog: Backlog, revision: int) -> None:
    """Create a task for each seller, all with the same file."""
    content = backlog.file(0).read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    blobs = BlobStore(**_object_store(running), owner="api")
    await blobs.open()
    await blobs.put_bytes(content, sha256)
    await blobs.close()
    channel = open_channel(address, caller="api", audience="processor", keys=running.keys)
    stub = TaskServiceStub(channel)
    for seller in backlog.sizes.names:
        await stub.CreateTask(
            CreateTaskRequest(
                kind=TASK_KIND_LOAD, seller_id=seller, namespace=_LOADS, upload_id=f"{revision}-{seller}",
                source_sha256=sha256, source_bytes=len(content),
            )
        )  # fmt: skip
    await channel.close()


def _object_store(running: Installation) -> dict[str, Any]:
    environment = running.plan.environment(running.plan.table.services["processor"])
    names = ("endpoint", "access_key", "secret_key", "bucket")
    return {name: environment[f"CLASSIFEED_PROCESSOR_S3_{name.upper()}"] for name in names}
