"""The running service with all roles in one process, a host of pictures, and clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition
from starlette.applications import Starlette

from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceStub
from classifeed.pictures.v1.picture_service_pb2_grpc import PictureServiceStub
from classifeed.pictures.v1.requests_pb2 import PictureRequest, PictureRequests, PictureResult, PictureResults
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Cluster, KafkaProducer, message_of
from classifeed_common.rpc.client import open_channel
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import begin_at_ends
from classifeed_domain.topics import (
    PICTURES_COPIES,
    PICTURES_DOWNLOADS,
    PICTURES_EVENTS,
    PICTURES_LOADS,
    PICTURES_REQUESTS,
    PICTURES_RESULTS,
)
from classifeed_pictures.bootstrap import build, prepare
from classifeed_pictures.consumers import copies, downloads, events, resharder
from classifeed_pictures.domain.lifecycle.recipients import OFFERS
from classifeed_pictures.parts.tuning import TUNING, Tuning
from classifeed_pictures.settings import PicturesSettings

from .picture_host import PictureHost, picture_host

READ = {
    resharder.GROUP: (PICTURES_REQUESTS, PICTURES_LOADS),
    events.GROUP: (PICTURES_EVENTS,),
    copies.GROUP: (PICTURES_COPIES,),
    downloads.GROUP: (PICTURES_DOWNLOADS,),
}


@pytest.fixture
async def host() -> AsyncIterator[PictureHost]:
    async with picture_host() as served:
        yield served


@dataclass
class Service:
    """A running service, and a client of its topics."""

    database: Database
    pictures: PictureServiceStub
    producer: KafkaProducer
    recipient: str
    results_reader: Consumer
    http_address: str
    blobs: BlobStore
    settings: PicturesSettings
    jobs: JobServiceStub
    grpc_address: str
    http_app: Starlette

    async def request(
        self, urls: Sequence[str], *, namespace: str = "offers", prefix: str = "", client: str = OFFERS
    ) -> None:
        """Request pictures; a reference is the prefix with the number in the list."""
        messages = []
        for start in range(0, len(urls), 100):
            message = PictureRequests(recipient=self.recipient, client=client)
            for number, url in enumerate(urls[start : start + 100], start):
                request = PictureRequest(url=url, namespace=namespace, reference=f"{prefix}{number}")
                request.request_time.GetCurrentTime()
                message.requests.append(request)
            messages.append(message_of(PICTURES_REQUESTS, self.recipient.encode(), message))
        await self.producer.send(messages)

    async def results(self, count: int) -> list[PictureResult]:
        """Return the given number of results as they arrive, and any that follow soon after."""
        found: list[PictureResult] = []

        def take() -> bool:
            for record in self.results_reader.consume(500, timeout=0.05):
                if record.key() == self.recipient.encode():
                    found.extend(PictureResults.FromString(record.value() or b"").results)
            return len(found) >= count

        await until(lambda: asyncio.to_thread(take))
        await asyncio.to_thread(take)
        return found

    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()


@pytest.fixture
def options() -> dict[str, Any]:
    """Return settings that tests may override."""
    return {}


@pytest.fixture
def tuning() -> Tuning:
    """Return periods and limits that tests may override."""
    return TUNING


@pytest.fixture
async def service(
    migrated_database: Callable[[str], Awaitable[Database]],
    kafka: EmbeddedKafka,
    s3: EmbeddedS3,
    tmp_path: Path,
    options: dict[str, Any],
    tuning: Tuning,
) -> AsyncIterator[Service]:
    database = await migrated_database("classifeed_pictures")
    settings = PicturesSettings(
        dsn=database.dsn,
        kafka_bootstrap=kafka.bootstrap,
        s3_endpoint=s3.endpoint,
        s3_access_key=s3.access_key,
        s3_secret_key=s3.secret_key,
        bucket=f"pictures-{uuid4().hex[:12]}",
        allow_loopback=True,
        decoders=1,
        look_again_s=1,
        host_first_rate=1000,
        host_highest_rate=1000,
        downloads_per_host=8,
        drain_notice_s=0,
        spool_dir=tmp_path,
        **options,
    )
    await prepare(settings)
    # Hundreds of partitions were just created; it takes a while until each has a leader.
    await until(lambda: all_at_ends(database, kafka.bootstrap))
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    runner = build(settings, tuning=tuning)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop))
    await until(lambda: running.done() or runner.is_ready)
    channel = open_channel(runner.grpc_address, caller="operator", audience="pictures", keys=None)
    reader = await asyncio.to_thread(reader_at_end, kafka.bootstrap)
    blobs = blobs_of(settings, bucket=settings.bucket)
    pictures = PictureServiceStub(channel)
    jobs = JobServiceStub(channel)
    recipient = f"seller-{uuid4().hex}"
    yield Service(
        database, pictures, producer, recipient, reader, runner.http_address, blobs, settings, jobs,
        runner.grpc_address, runner.http_app(runner.role_names),
    )  # fmt: skip
    await blobs.close()
    await asyncio.to_thread(reader.close)
    await channel.close()
    stop.set()
    await running
    await producer.close()


@pytest.fixture
async def http(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """Yield an HTTP client of the service."""
    async with loopback_client(f"http://{service.http_address}") as client:
        yield client


async def all_at_ends(database: Database, bootstrap: str) -> bool:
    """Move all groups to the ends of their topics; return whether each partition had a leader."""
    try:
        for group, topics in READ.items():
            for topic in topics:
                await begin_at_ends(database, bootstrap, group, topic)
    except Unavailable:
        return False
    return True


async def is_read(database: Database, cluster: Cluster) -> bool:
    """Return whether all groups have committed all records of their topics."""
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT topic, partition, next FROM consumer_offsets")).fetchall()
    ends = await cluster.ends([(topic, partition) for topic, partition, _ in rows])
    return all(ends[topic, partition] == position for topic, partition, position in rows)


def reader_at_end(bootstrap: str) -> Consumer:
    """Return a consumer of the results that are sent from now on."""
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": uuid4().hex, "enable.auto.commit": False})
    partitions = reader.list_topics(PICTURES_RESULTS, timeout=20).topics[PICTURES_RESULTS].partitions
    ends = [
        TopicPartition(
            PICTURES_RESULTS, number, reader.get_watermark_offsets(TopicPartition(PICTURES_RESULTS, number))[1]
        )
        for number in partitions
    ]
    reader.assign(ends)
    return reader
