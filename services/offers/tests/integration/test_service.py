"""The service as started in production: settings, verbs, a load through all roles, and its end on SIGTERM."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import grpc
import psycopg
import pytest

from classifeed.offers.v1.offer_pb2 import (
    OFFER_PICTURE_STATE_AWAITED,
    OFFER_PICTURE_STATE_STORED,
    OFFER_STATUS_ACTIVE,
)
from classifeed.offers.v1.offer_service_pb2 import ExportPictureUrlsRequest, GetOfferRequest
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureResult, PictureResults
from classifeed_common.kafka import KafkaProducer, message_of
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.topics import forget_records
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, PICTURES_RESULTS
from classifeed_offers.domain.offers import hash_of
from classifeed_offers.jobs.request_pictures import TASK

from ..conftest import Load, Records


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),  # set if a copy of the tree is tested
        "CLASSIFEED_OFFERS_RUN_FILE": str(tmp_path / "run.json"),
        "CLASSIFEED_OFFERS_KAFKA_BOOTSTRAP": "127.0.0.1:1",
        "CLASSIFEED_OFFERS_RECEIVER_ADDRESS": "127.0.0.1:1",
        "CLASSIFEED_OFFERS_TEXTS_APPROVED_BY_SETTING": "true",
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "classifeed_offers", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


async def lose_results(kafka: EmbeddedKafka, dsn: str) -> None:
    """Move the positions to results of pictures that Kafka has deleted."""
    await forget_records(kafka.bootstrap, PICTURES_RESULTS)
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        query = "UPDATE offers.consumer_offsets SET next = 0 WHERE topic = %s AND next > 0"
        assert (await connection.execute(query, [PICTURES_RESULTS])).rowcount


async def count_jobs_again(dsn: str) -> int:
    """Return how many jobs have requested or are requesting the pictures of all offers again; each runs briefly."""
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        query = (
            'SELECT count(*) FROM offers.dl_jobs_all WHERE task = %s AND args @> \'{"again": true, "seller_id": ""}\''
        )
        [count] = await (await connection.execute(query, [TASK])).fetchone() or [0]
    return int(count)


@pytest.mark.kafka
@pytest.mark.slow
async def test_a_load_goes_through_while_the_receiver_is_away(
    environment: dict[str, str],
    kafka: EmbeddedKafka,
    database_dsn: str,
    records: Records,
    new_load: type[Load],
    tmp_path: Path,
) -> None:
    environment |= {
        "CLASSIFEED_OFFERS_DSN": database_dsn,
        "CLASSIFEED_OFFERS_KAFKA_BOOTSTRAP": kafka.bootstrap,
    }
    assert (await asyncio.to_thread(run, environment, "migrate")).returncode == 0
    checked = await asyncio.to_thread(run, environment, "check")
    assert (checked.returncode, checked.stdout) == (0, "")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "classifeed_offers", env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    try:
        async with asyncio.timeout(300):
            while not (tmp_path / "run.json").exists():
                assert process.returncode is None
                await asyncio.sleep(0.05)
            record = records.good("a")
            record.content.picture_urls.append("https://shop.example/a.jpg")
            record.content_hash = hash_of(record.content)
            load = new_load([record], seller="service-test")
            await producer.send([message_of(FEEDS_OFFER_REQUESTS, b"service-test", it) for it in load.messages])
            address = json.loads((tmp_path / "run.json").read_text())["grpc"]
            async with grpc.aio.insecure_channel(address) as channel:
                name = "sellers/service-test/feeds/default/offers/a"
                stub = OfferServiceStub(channel)
                offer = None
                while offer is None:
                    try:
                        offer = await stub.GetOffer(GetOfferRequest(name=name))
                    except grpc.aio.AioRpcError as error:
                        assert error.code() in {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE}
                        await asyncio.sleep(0.05)
                [picture] = offer.pictures
                assert picture.state == OFFER_PICTURE_STATE_AWAITED
                result = PictureResult(
                    url=picture.url, namespace="offers", reference="default/a", attempt=1, info=PictureInfo(name="n")
                )
                results = PictureResults(recipient="service-test", results=[result])
                await producer.send([message_of(PICTURES_RESULTS, b"service-test", results)])
                while picture.state != OFFER_PICTURE_STATE_STORED:
                    await asyncio.sleep(0.05)
                    [picture] = (await stub.GetOffer(GetOfferRequest(name=name))).pictures
                exported = [part async for part in stub.ExportPictureUrls(ExportPictureUrlsRequest())]
                assert [url for part in exported for url in part.urls.urls] == [picture.url]
                assert exported[-1].end.count == 1
            assert await count_jobs_again(database_dsn) == 0
            await lose_results(kafka, database_dsn)
            await producer.send([message_of(PICTURES_RESULTS, b"service-test", results)])
            async with asyncio.timeout(60):
                while not await count_jobs_again(database_dsn):
                    await asyncio.sleep(0.05)
            assert (offer.status, offer.published_version) == (OFFER_STATUS_ACTIVE, 0)
            process.terminate()
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await producer.close()
