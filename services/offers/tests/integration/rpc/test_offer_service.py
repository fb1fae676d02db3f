"""OfferService over a real server: reads, pages, and refusals that name the field."""

from __future__ import annotations

import grpc
import pytest

from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_REJECT
from classifeed.offers.v1.offer_pb2 import (
    OFFER_CHANGE_REMOVED,
    OFFER_CHANGE_UPDATED,
    OFFER_ORIGIN_FEED,
    OFFER_STATUS_ACTIVE,
    OFFER_STATUS_REMOVED,
)
from classifeed.offers.v1.offer_service_pb2 import GetOfferRequest, ListOffersRequest, RequestPicturesRequest
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed_common.db import Database
from classifeed_devkit.testing.rpc import OpenChannel
from classifeed_devkit.testing.texts import check_that_nul_is_refused
from classifeed_offers.rpc import offer_service

from ...conftest import Load, Owner, Records

PARENT = "sellers/seller/feeds/default"


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(target: str, rpc_channel: OpenChannel) -> None:
    await check_that_nul_is_refused(rpc_channel, target, "offers", "classifeed.offers.v1.OfferService")


async def test_an_offer_is_shown_whole(
    owner: Owner, offers: OfferServiceStub, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good("sku/1 ä", "Диван", price=7)]))
    offer = await offers.GetOffer(GetOfferRequest(name=f"{PARENT}/offers/sku/1 ä"))
    assert (offer.name, offer.external_id) == (f"{PARENT}/offers/sku/1 ä", "sku/1 ä")
    assert (offer.status, offer.origin, offer.moderation) == (OFFER_STATUS_ACTIVE, OFFER_ORIGIN_FEED, "setting")
    assert (offer.content.title, offer.content.price.amount_micros) == ("Диван", 7_000_000)
    assert not offer.HasField("published_content")
    assert offer.version > 1_700_000_000_000_000
    assert offer.published_version == 0
    assert offer.update_time.ToMicroseconds() == pytest.approx(offer.version, abs=60_000_000)


async def test_an_offer_says_what_its_last_load_did(
    owner: Owner, offers: OfferServiceStub, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good("kept"), records.good("gone")]))
    await owner.load(new_load([records.good("kept", price=90)], task=2))
    shown = [await offers.GetOffer(GetOfferRequest(name=f"{PARENT}/offers/{name}")) for name in ("kept", "gone")]
    assert [(it.last_task_id, it.last_change) for it in shown] == [(2, OFFER_CHANGE_UPDATED), (2, OFFER_CHANGE_REMOVED)]


async def test_a_change_that_waits_is_shown_until_it_is_decided_about(
    owner: Owner, offers: OfferServiceStub, records: Records, new_load: type[Load]
) -> None:
    def load(task: int, price: int) -> Load:
        return new_load([records.good(f"{n:02}", price=price) for n in range(20)], task=task, batch_size=100)

    async def shown() -> tuple[int, int]:
        offer = await offers.GetOffer(GetOfferRequest(name=f"{PARENT}/offers/00"))
        return offer.waiting_task_id, offer.waiting_content.price.amount_micros // 1_000_000

    await owner.load(load(1, 100))
    assert await shown() == (0, 0)
    held = load(2, 1000)
    await owner.take(held.batches)
    assert await shown() == (2, 1000), "until the end of the load"
    await owner.take([held.end])
    await owner.sweep()
    assert await shown() == (2, 1000), "until somebody decides"
    await owner.take([held.decided(HOLD_DECISION_REJECT)])
    assert await shown() == (0, 0)
    await owner.take([*load(3, 1000).batches, *load(4, 110).batches])
    assert await shown() == (0, 0), "a newer load took its place"


async def test_an_unknown_offer_is_not_found(offers: OfferServiceStub) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await offers.GetOffer(GetOfferRequest(name=f"{PARENT}/offers/none"))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


async def test_pages_give_every_offer_once(
    owner: Owner, offers: OfferServiceStub, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good(f"{n:03}") for n in range(25)]))
    await owner.load(new_load([records.good(f"{n:03}") for n in range(25) if n != 7], task=2))
    pages, token = [], ""
    while True:
        result = await offers.ListOffers(ListOffersRequest(parent=PARENT, page_size=10, page_token=token))
        pages.append([offer.external_id for offer in result.offers])
        if not (token := result.next_page_token):
            break
    assert pages == [
        ["000", "001", "002", "003", "004", "005", "006", "008", "009", "010"],
        ["011", "012", "013", "014", "015", "016", "017", "018", "019", "020"],
        ["021", "022", "023", "024"],
    ]
    removed = await offers.ListOffers(ListOffersRequest(parent=PARENT, status=OFFER_STATUS_REMOVED))
    assert [offer.external_id for offer in removed.offers] == ["007"]


async def test_a_page_ends_early_rather_than_outgrow_a_message(
    owner: Owner, offers: OfferServiceStub, records: Records, new_load: type[Load], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offer_service, "_PAGE_LIMIT_BYTES", 100)
    await owner.load(new_load([records.good(name, name * 60) for name in "abc"]))
    result = await offers.ListOffers(ListOffersRequest(parent=PARENT))
    assert [offer.external_id for offer in result.offers] == ["a"]
    result = await offers.ListOffers(ListOffersRequest(parent=PARENT, page_token=result.next_page_token))
    assert [offer.external_id for offer in result.offers] == ["b"]


@pytest.mark.parametrize(
    "request_",
    [
        ListOffersRequest(parent="sellers/seller"),
        ListOffersRequest(parent=PARENT, page_size=1001),
        ListOffersRequest(parent=PARENT, page_token="?"),
        ListOffersRequest(parent=PARENT, page_token="AA=="),
        ListOffersRequest(parent=PARENT, status=77),  # type: ignore[arg-type]
    ],
)
async def test_a_wrong_request_is_refused(offers: OfferServiceStub, request_: ListOffersRequest) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await offers.ListOffers(request_)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_pictures_are_requested_again_by_a_job(offers: OfferServiceStub, database: Database) -> None:
    request = RequestPicturesRequest(parent="sellers/seller/feeds/default", request_id="r")
    first, repeated = [await offers.RequestPictures(request) for _ in range(2)]
    assert first.job_id
    assert repeated.job_id == first.job_id
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT job_id::text, args FROM dl_jobs")).fetchall()
    expected = {"seller_id": "seller", "namespace": "default", "again": True}
    assert [(job_id, expected.items() <= payload.items()) for job_id, payload in rows] == [(first.job_id, True)]
    with pytest.raises(grpc.aio.AioRpcError, match="parent"):
        await offers.RequestPictures(RequestPicturesRequest(parent="sellers/"))


@pytest.mark.parametrize("picture_jobs", [None])
async def test_an_installation_without_pictures_requests_none(offers: OfferServiceStub) -> None:
    assert not (await offers.RequestPictures(RequestPicturesRequest())).job_id
