"""Offers that are kept by hand can be changed and removed; those of feeds cannot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE_ALL, DISPOSITION_MAKE_MANUAL
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_ALLOW_REMOVALS
from classifeed.moderation.v1.offer_texts_pb2 import TextsToJudge
from classifeed.offers.v1.offer_pb2 import (
    OFFER_ORIGIN_FEED,
    OFFER_ORIGIN_MANUAL,
    OFFER_PICTURE_STATE_AWAITED,
    OFFER_STATUS_ACTIVE,
    OFFER_STATUS_REMOVED,
    GeoPoint,
    Offer,
    OfferContent,
    Price,
)
from classifeed.offers.v1.offer_service_pb2 import (
    DeleteOfferRequest,
    GetOfferRequest,
    UpdateOfferRequest,
)
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.pictures.v1.requests_pb2 import PictureRequests
from classifeed_common.db import Database
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_offers.domain.moderation import ByVerdicts, Moderation
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store import applying

from ...conftest import Load, Owner, Records

PARENT = "sellers/seller/feeds/default"
EUR = 1_000_000


@pytest.fixture
def moderation(owner: Owner) -> Moderation:
    owner.requests_pictures = True
    return ByVerdicts()


@dataclass
class Scene:
    """A namespace with manual offers a, b and c, which were kept when its feed was removed."""

    owner: Owner
    offers: OfferServiceStub
    records: Records

    async def get(self, external_id: str = "a") -> Offer:
        return await self.offers.GetOffer(GetOfferRequest(name=f"{PARENT}/offers/{external_id}"))

    async def change(self, external_id: str, content: OfferContent, *paths: str, version: int = 0) -> Offer:
        request = UpdateOfferRequest(name=f"{PARENT}/offers/{external_id}", content=content, version=version)
        request.update_mask.paths.extend(paths)
        return await self.offers.UpdateOffer(request)

    async def delete(self, external_id: str, version: int = 0) -> Offer:
        request = DeleteOfferRequest(name=f"{PARENT}/offers/{external_id}", version=version)
        return await self.offers.DeleteOffer(request)

    async def sent(self, topic: str, kind: Any) -> list[Any]:
        async with self.owner.database.connection() as connection:
            rows = await connection.execute("SELECT value FROM outbox WHERE topic = %s ORDER BY 1", (topic,))
            return [kind.FromString(row[0]) for row in await rows.fetchall()]


@pytest.fixture
async def scene(owner: Owner, offers: OfferServiceStub, records: Records, new_load: type[Load]) -> Scene:
    await owner.load(new_load([records.good(name) for name in "abc"]))
    await owner.load(new_load([], task=2, disposition=DISPOSITION_MAKE_MANUAL))
    return Scene(owner, offers, records)


def refusal(error: pytest.ExceptionInfo[grpc.aio.AioRpcError]) -> tuple[grpc.StatusCode, str]:
    return error.value.code(), error.value.details() or ""


async def test_named_fields_change_and_others_stay(scene: Scene) -> None:
    before = await scene.get()
    given = OfferContent(title="left out", price=Price(amount_micros=7 * EUR), stock_quantity=3)
    after = await scene.change("a", given, "price", "stock_quantity", version=before.version)
    assert (after.content.title, after.content.stock_quantity) == (before.content.title, 3)
    assert after.content.price == Price(amount_micros=7 * EUR, currency_code="RUB"), "in the currency that it has"
    assert after.version > before.version
    assert (after.origin, after.last_task_id) == (OFFER_ORIGIN_MANUAL, 2)
    assert await scene.get() == after
    assert after.published_version < after.version, "it is due to be published"
    cleared = await scene.change("a", OfferContent(), "price")
    assert not cleared.content.HasField("price")


async def test_a_new_text_is_judged_and_a_new_picture_requested(scene: Scene) -> None:
    given = OfferContent(title="Another title", picture_urls=["http://shop.example/1.jpg"])
    changed = await scene.change("a", given, "title", "picture_urls")
    [texts] = await scene.sent("moderation.requests.v1", TextsToJudge)
    assert [(it.external_id, it.title) for it in texts.texts] == [("a", "Another title")]
    [pictures] = await scene.sent("pictures.requests.v1", PictureRequests)
    assert [it.url for it in pictures.requests] == ["http://shop.example/1.jpg"]
    assert [it.state for it in changed.pictures] == [OFFER_PICTURE_STATE_AWAITED]
    await scene.change("a", OfferContent(price=Price(amount_micros=EUR)), "price")
    assert len(await scene.sent("moderation.requests.v1", TextsToJudge)) == 1, "the text is the same"


async def test_an_approved_text_stays_shown_until_the_new_one_is_judged(scene: Scene) -> None:
    """The loads of this scene were approved by the setting."""
    changed = await scene.change("a", OfferContent(title="Another title"), "title")
    assert changed.status == OFFER_STATUS_ACTIVE
    assert (changed.content.title, changed.published_content.title) == ("Another title", "offer a")


async def test_a_repeated_change_changes_nothing_and_another_version_is_refused(scene: Scene) -> None:
    before = await scene.get()
    given = OfferContent(stock_quantity=5)
    first = await scene.change("a", given, "stock_quantity", version=before.version)
    assert await scene.change("a", given, "stock_quantity", version=before.version) == first
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await scene.change("a", OfferContent(stock_quantity=6), "stock_quantity", version=before.version)
    code, message = refusal(error)
    assert code is grpc.StatusCode.ABORTED
    assert f"is at version {first.version}" in message
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await scene.delete("a", version=before.version)
    assert error.value.code() is grpc.StatusCode.ABORTED
    assert await scene.get() == first


async def test_a_removed_offer_leaves_the_search_and_stays_removed(scene: Scene) -> None:
    before = await scene.get()
    removed = await scene.delete("a", version=before.version)
    assert removed.status == OFFER_STATUS_REMOVED
    assert removed.version > before.version > removed.published_version
    assert await scene.delete("a") == removed, "a repeated request"
    assert await scene.owner.alive() == {"b", "c"}
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await scene.change("a", OfferContent(stock_quantity=5), "stock_quantity")
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


async def test_offers_of_a_feed_are_refused(scene: Scene, new_load: type[Load]) -> None:
    await scene.owner.load(new_load([scene.records.good("a")], task=3))
    assert (await scene.get("a")).origin == OFFER_ORIGIN_FEED, "the load has taken it back"
    for call in (scene.delete("a"), scene.change("a", OfferContent(stock_quantity=5), "stock_quantity")):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call
        code, message = refusal(error)
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert "belongs to the feed of its namespace" in message
    assert await scene.owner.alive() == {"a", "b", "c"}


@pytest.mark.parametrize("external_id", ["none", "a\0b"])
async def test_an_unknown_offer_is_refused(scene: Scene, external_id: str) -> None:
    codes = {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT}
    for call in (scene.delete(external_id), scene.change(external_id, OfferContent(title="t"), "title")):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call
        assert error.value.code() in codes


@pytest.mark.parametrize(
    ("content", "paths", "named"),
    [
        (OfferContent(title="t"), [], "update_mask"),
        (OfferContent(title="t"), ["status"], "update_mask"),
        (OfferContent(title="t"), ["title.words"], "update_mask"),
        (OfferContent(), ["title"], "content.title"),
        (OfferContent(title=" \n"), ["title"], "content.title"),
        (OfferContent(title="t" * 1001), ["title"], "content.title"),
        (OfferContent(description="d" * 300_000), ["description"], "content.description"),
        (OfferContent(price=Price(amount_micros=-1)), ["price"], "content.price.amount_micros"),
        (OfferContent(price=Price(amount_micros=1, currency_code="rub")), ["price"], "content.price.currency_code"),
        (OfferContent(location=GeoPoint(latitude=91)), ["location"], "content.location.latitude"),
        (OfferContent(location=GeoPoint(longitude=float("nan"))), ["location"], "content.location.longitude"),
        (OfferContent(stock_quantity=-1), ["stock_quantity"], "content.stock_quantity"),
        (OfferContent(picture_urls=["u"] * 1025), ["picture_urls"], "content.picture_urls"),
        (OfferContent(title="nul\0"), ["title"], "content.title"),
    ],
)
async def test_a_wrong_change_names_its_field(
    scene: Scene, content: OfferContent, paths: list[str], named: str
) -> None:
    before = await scene.get()
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await scene.change("a", content, *paths)
    code, message = refusal(error)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert named in message
    assert await scene.get() == before


async def test_a_change_waits_for_the_batch_of_a_load_and_comes_wholly_after_it(
    scene: Scene, database: Database
) -> None:
    async with database.transaction() as tx:
        await applying.lock_heads(tx, {Namespace("seller", "default")})
        change = asyncio.create_task(scene.change("a", OfferContent(stock_quantity=5), "stock_quantity"))
        assert await comes_to_wait(change, database, behind=tx)
    assert (await change).content.stock_quantity == 5


async def test_a_removal_of_all_takes_offers_kept_by_hand_too(scene: Scene, new_load: type[Load]) -> None:
    await scene.owner.load(new_load([scene.records.good("d")], task=3))
    await scene.owner.load(new_load([], task=4, decision=HOLD_DECISION_ALLOW_REMOVALS))
    assert await scene.owner.alive() == {"a", "b", "c"}, "an ordinary removal leaves them"
    removal = new_load([], task=5, disposition=DISPOSITION_DELETE_ALL, decision=HOLD_DECISION_ALLOW_REMOVALS)
    results = await scene.owner.load(removal)
    assert results[-1].removed == 3
    assert await scene.owner.alive() == set()
