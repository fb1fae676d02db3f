"""After events were lost, offers requests its pictures again once it can be reached."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest

from classifeed.jobs.v1.job_pb2 import JOB_STATUS_SUCCEEDED
from classifeed.offers.v1.offer_service_pb2 import RequestPicturesRequest, RequestPicturesResponse
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceServicer
from classifeed_common.db import Database
from classifeed_common.rpc.client import open_channel
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import forget_records
from classifeed_domain.topics import PICTURES_EVENTS
from classifeed_jobs import JobStore
from classifeed_pictures.app.states.close_event_gaps import CloseEventGaps
from classifeed_pictures.clients.offers import OffersClient
from classifeed_pictures.jobs.close_event_gaps import TASK, enqueue_closing
from classifeed_pictures.store.events import event_gaps

from ..backup_runs import destroy, make_backup, restore
from ..conftest import Service
from ..picture_host import PictureHost, jpeg
from .offers_server import served

NEW = "a database without pictures"


@dataclass
class Offers(OfferServiceServicer):
    """Accepts requests, or loses the responses to some."""

    taken: list[str] = field(default_factory=list)
    lost_responses: int = 0

    async def RequestPictures(self, request: RequestPicturesRequest, context: Any) -> RequestPicturesResponse:
        self.taken.append(request.request_id)
        assert not request.parent
        if self.lost_responses:
            self.lost_responses -= 1
            await context.abort(grpc.StatusCode.INTERNAL, "the response is lost")
        return RequestPicturesResponse(job_id="job")


@pytest.fixture
async def offers() -> AsyncIterator[tuple[Offers, str]]:
    servicer = Offers()
    async with served(servicer) as address:
        yield servicer, address


@pytest.fixture
async def database(migrated_database: Any) -> Database:
    found: Database = await migrated_database("classifeed_pictures")
    return found


@pytest.fixture
async def close(database: Database, offers: tuple[Offers, str]) -> AsyncIterator[CloseEventGaps]:
    channel = open_channel(offers[1], caller="pictures", audience="offers", keys=None)
    yield CloseEventGaps(database, OffersClient(channel))
    await channel.close()


async def open_causes(database: Database) -> list[str]:
    async with database.transaction() as tx:
        return [gap.cause for gap in await event_gaps.list_open(tx)]


async def test_a_new_database_requests_all_once(
    database: Database, close: CloseEventGaps, offers: tuple[Offers, str]
) -> None:
    assert await open_causes(database) == [NEW]
    assert [await close(), await close()] == [1, 0]
    assert len(offers[0].taken) == 1
    assert await open_causes(database) == []


async def test_a_start_has_a_gap_closed_that_nobody_knows_of_and_no_more(database: Database) -> None:
    """With the schedule alone, a lost database would lack its pictures for up to an hour."""
    store = JobStore()

    async def count_jobs() -> int:
        async with database.connection() as connection:
            row = await (await connection.execute("SELECT count(*) FROM dl_jobs WHERE task = %s", [TASK])).fetchone()
        assert row is not None
        return int(row[0])

    for _ in range(2):  # as several processes would
        await enqueue_closing(database, store)
        assert await count_jobs() == 1
    async with database.transaction() as tx:
        [gap] = await event_gaps.list_open(tx)
        await event_gaps.close_through(tx, gap.gap_id)
        await tx.execute("DELETE FROM dl_jobs")
    await enqueue_closing(database, store)
    assert await count_jobs() == 0


async def test_a_lost_response_is_requested_again_under_the_same_id(
    database: Database, close: CloseEventGaps, offers: tuple[Offers, str]
) -> None:
    offers[0].lost_responses = 1
    with pytest.raises(grpc.aio.AioRpcError, match="lost"):
        await close()
    assert await open_causes(database) == [NEW]
    assert await close() == 1
    assert len(offers[0].taken) == 2
    assert len(set(offers[0].taken)) == 1


async def test_a_gap_that_opens_during_the_call_stays_open(
    database: Database, close: CloseEventGaps, offers: tuple[Offers, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did not exist when offers was called, so the request for both may have come too early for it."""
    request = close.offers.request_pictures

    async def request_and_lose(request_id: str) -> str:
        job_id = await request(request_id)
        async with database.transaction() as tx:
            await event_gaps.open_gap(tx, "meanwhile")
        return job_id

    monkeypatch.setattr(close.offers, "request_pictures", request_and_lose)
    assert await close() == 1
    assert await open_causes(database) == ["meanwhile"]
    monkeypatch.undo()
    assert await close() == 1
    assert len(set(offers[0].taken)) == 2


async def test_numbers_of_gaps_grow_though_the_database_goes_back(database: Database) -> None:
    async def number() -> int:
        async with database.transaction() as tx:
            await event_gaps.open_gap(tx, "of a test")
            return (await event_gaps.list_open(tx))[-1].gap_id

    first = await number()
    async with database.transaction() as tx:
        await tx.execute("DELETE FROM event_gaps")
    assert await number() > first


@pytest.fixture
def options(offers: tuple[Offers, str]) -> dict[str, Any]:
    return {"offers_address": offers[1], "backup_s": 10**9}


async def test_offers_requests_again_after_a_restore_without_all_events(
    service: Service, host: PictureHost, offers: tuple[Offers, str]
) -> None:
    """Kafka has removed some events since the backup."""
    await service.request([host.put("/1.jpg", jpeg(1))])
    await service.results(1)
    name = await make_backup(service)
    await until(lambda: is_closed(service, NEW))
    before = len(offers[0].taken)
    assert (await restore(service, name)).status == JOB_STATUS_SUCCEEDED
    assert await service.rows("SELECT 1 FROM event_gaps WHERE closed_at IS NULL") == []
    assert len(offers[0].taken) == before, "nothing was lost"

    await service.request([host.put(f"/{number}.jpg", jpeg(number)) for number in range(2, 40)], prefix="later")
    await service.results(38)
    await forget_records(service.settings.kafka_bootstrap, PICTURES_EVENTS)
    await destroy(service)
    assert (await restore(service, name)).status == JOB_STATUS_SUCCEEDED
    await until(lambda: is_closed(service, f"the backup {name}%"))
    assert len(offers[0].taken) > before


async def test_offers_requests_again_after_records_that_a_consumer_could_not_read(
    service: Service, host: PictureHost, offers: tuple[Offers, str]
) -> None:
    await service.request([host.put("/1.jpg", jpeg(1))])
    await service.results(1)
    # The positions of an older database, whose records no longer exist.
    await forget_records(service.settings.kafka_bootstrap, PICTURES_EVENTS)
    query = """UPDATE consumer_offsets SET next = 0 WHERE topic = %s AND next > 0 RETURNING 1"""
    assert await service.rows(query, PICTURES_EVENTS)
    await service.request([host.put(f"/{number}.jpg", jpeg(number)) for number in range(2, 40)], prefix="later")
    await until(lambda: is_closed(service, "records that%"))
    assert offers[0].taken


async def is_closed(service: Service, cause: str) -> bool:
    query = "SELECT 1 FROM event_gaps WHERE cause LIKE %s AND closed_at IS NOT NULL"
    return bool(await service.rows(query, cause))
