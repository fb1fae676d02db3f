"""Pictures of offers: each link is requested once, results get into the document, and loads learn of failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from classifeed.feeds.v1.load_pb2 import ISSUE_KIND_PICTURE, ISSUE_LEVEL_WARNING, LOAD_MODE_PATCH
from classifeed.feeds.v1.offer_requests_pb2 import RECORD_KIND_OFFER, OfferRecord
from classifeed.feeds.v1.offer_results_pb2 import LateResult, OfferBatchResult
from classifeed.offers.v1.offer_pb2 import (
    OFFER_PICTURE_STATE_AWAITED,
    OFFER_PICTURE_STATE_FAILED,
    OFFER_PICTURE_STATE_STORED,
    OfferPicture,
)
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo, PictureSize
from classifeed.pictures.v1.requests_pb2 import PictureRequests, PictureResult, PictureResults
from classifeed_common.db import Tx, fetch_as
from classifeed_common.kafka import Message
from classifeed_common.outbox import Outbox
from classifeed_offers.app.pictures.keep_pictures import keep_pictures
from classifeed_offers.app.pictures.request_pictures import PictureRequester
from classifeed_offers.domain.documents import DueOffer, compose
from classifeed_offers.domain.offers import hash_of
from classifeed_offers.domain.pictures import read_pictures
from classifeed_offers.store import publishing

A, B, C = (f"https://shop.example/{name}.jpg" for name in "abc")
INFO = PictureInfo(namespace="offers", group_id=7, name="n1", width=10, height=10, sizes=[PictureSize(name="large")])
GONE = LoadFailure(code="HTTP_NOT_FOUND", message="The server answers with 404", http_status=404)


class Shop:
    """A namespace with one offer: loads of it, and results about its pictures."""

    def __init__(self, owner: Any, records: Any, new_load: Any) -> None:
        self.owner, self.records, self.new_load = owner, records, new_load
        owner.requests_pictures = True
        self.task = 0

    def record(self, *urls: str, price: int = 100, line: int = 42) -> OfferRecord:
        record: OfferRecord = self.records.good("a", "a lamp", price)
        record.content.picture_urls.extend(urls)
        record.content_hash = hash_of(record.content)
        record.ordinal, record.line = 3, line
        return record

    async def load(self, *urls: str, price: int = 100, line: int = 42) -> tuple[OfferBatchResult, list[str]]:
        """Load the offer; return the result and the requested links."""
        return await self.load_records([self.record(*urls, price=price, line=line)])

    async def load_records(self, records: list[OfferRecord]) -> tuple[OfferBatchResult, list[str]]:
        self.task += 1
        load = self.new_load(records, task=self.task)
        replies = await self.owner.take(load.messages)
        await self.owner.sweep()
        results = [it for it in replies if isinstance(it, OfferBatchResult)]
        messages = [it for it in replies if isinstance(it, PictureRequests)]
        for message in messages:
            assert message.recipient == "seller"
            assert {(it.namespace, it.reference) for it in message.requests} == {("offers", "default/a")}
            assert all(it.HasField("request_time") for it in message.requests)
        return (results or [OfferBatchResult()])[0], [it.url for message in messages for it in message.requests]

    async def result(
        self, url: str, what: PictureInfo | LoadFailure, attempt: int = 1, **others: str
    ) -> list[LateResult]:
        kept = {"info": what} if isinstance(what, PictureInfo) else {"failure": what}
        given: dict[str, Any] = {"namespace": "offers", "reference": "default/a"} | others
        recipient = given.pop("recipient", "seller")
        result = PictureResult(url=url, attempt=attempt, **given, **kept)
        async with self.owner.database.transaction() as tx:
            message = PictureResults(recipient=recipient, results=[result])
            return await keep_pictures(tx, [message])

    async def fetch(self, sql: str) -> Any:
        async with self.owner.database.connection() as connection:
            return await (await connection.execute(sql)).fetchone()

    async def execute(self, sql: str) -> None:
        async with self.owner.database.connection() as connection:
            await connection.execute(sql)

    async def pictures(self) -> dict[str, OfferPicture]:
        [records] = await self.fetch("SELECT pictures FROM offers")
        return {picture.url: picture for picture in read_pictures(records)}

    async def states(self) -> dict[str, int]:
        return {url: picture.state for url, picture in (await self.pictures()).items()}

    async def row(self) -> Any:
        return await self.fetch("SELECT version, pictures, picture_faults, pictures_requested_at FROM offers")

    async def is_awaited(self) -> bool:
        return bool((await self.fetch("SELECT pictures_requested_at IS NOT NULL FROM offers"))[0])

    async def document_pictures(self) -> list[str]:
        async with self.owner.database.connection() as connection:
            [due] = await fetch_as(connection, DueOffer, publishing.SELECT_DUE, {"limit": 10, "above": 0})
        return list(json.loads(compose(due).body)["picture"])


@pytest.fixture
def shop(owner: Any, records: Any, new_load: Any) -> Shop:
    return Shop(owner, records, new_load)


async def test_each_link_is_requested_once_when_a_load_brings_it(shop: Shop) -> None:
    assert (await shop.load(A, B))[1] == [A, B]
    assert (await shop.load(A, B))[1] == []  # unchanged
    assert (await shop.load(A, B, price=120))[1] == []  # changed, with the same links
    assert (await shop.load(C, B, price=120))[1] == [C]
    pictures = await shop.pictures()
    assert list(pictures) == [C, B]
    assert [it.task_id for it in pictures.values()] == [4, 1]
    assert (await shop.load(price=120))[1] == []
    assert (await shop.row())[1:] == (None, None, None)


async def test_kept_links_keep_their_state(shop: Shop) -> None:
    await shop.load(A, B)
    await shop.result(A, INFO)
    await shop.load(C, A, price=120)
    assert await shop.states() == {C: OFFER_PICTURE_STATE_AWAITED, A: OFFER_PICTURE_STATE_STORED}


async def test_an_offer_that_comes_back_requests_everything_anew(shop: Shop) -> None:
    """Pictures that no offer used may have been deleted: an old address may lead nowhere."""
    await shop.load(A)
    await shop.result(A, INFO, attempt=5)
    other = shop.records.good("b")
    await shop.load_records([other])
    assert (await shop.fetch("SELECT status FROM offers WHERE external_id = 'a'"))[0] == "REMOVED"
    assert await shop.result(A, GONE, attempt=6) == []
    _, requested = await shop.load_records([other, shop.record(A)])
    assert requested == [A]
    [records] = await shop.fetch("SELECT pictures FROM offers WHERE external_id = 'a'")
    assert [(it.state, it.attempt) for it in read_pictures(records)] == [(OFFER_PICTURE_STATE_AWAITED, 0)]


async def test_an_offer_that_comes_back_beside_a_patch_requests_everything_anew(shop: Shop, new_load: Any) -> None:
    """A patch in the same poll reads all columns, including those of the removed offer."""
    await shop.load(A)
    await shop.result(A, INFO)
    await shop.load_records([shop.records.good("b")])
    patch = new_load([shop.records.patch("b", 110)], task=3, mode=LOAD_MODE_PATCH)
    full = new_load([shop.records.good("b", price=110), shop.record(A)], task=4)
    replies = await shop.owner.take([*patch.messages, *full.messages])
    [message] = [it for it in replies if isinstance(it, PictureRequests)]
    assert [it.url for it in message.requests] == [A]


async def test_nothing_is_requested_where_the_setting_says_so(shop: Shop) -> None:
    shop.owner.requests_pictures = False
    assert (await shop.load(A))[1] == []
    assert (await shop.row())[1:] == (None, None, None)
    assert await shop.document_pictures() == [A]


async def test_a_stored_picture_takes_the_place_of_its_link_in_the_document(shop: Shop) -> None:
    await shop.load(A, B)
    before = (await shop.row())[0]
    assert await shop.document_pictures() == [A, B]
    assert await shop.result(A, INFO) == []
    assert (await shop.row())[0] > before
    assert await shop.is_awaited()
    assert await shop.document_pictures() == ["/get/offers/7/n1/large", B]
    await shop.result(B, INFO)
    assert not await shop.is_awaited()


async def test_failed_pictures_are_left_out_while_there_are_others(shop: Shop) -> None:
    await shop.load(A, B)
    await shop.result(A, GONE)
    assert await shop.document_pictures() == [B]
    await shop.result(B, GONE)
    assert await shop.document_pictures() == [A, B]


async def test_the_newest_attempt_holds(shop: Shop) -> None:
    await shop.load(A)
    await shop.result(A, INFO, attempt=5)
    before = await shop.row()
    for attempt in (4, 5):
        assert await shop.result(A, GONE, attempt=attempt) == []
    assert await shop.row() == before
    await shop.result(A, GONE, attempt=6)
    assert await shop.states() == {A: OFFER_PICTURE_STATE_FAILED}


async def test_a_repeated_result_changes_nothing(shop: Shop) -> None:
    await shop.load(A)
    await shop.result(A, INFO)
    before = await shop.row()
    await shop.result(A, INFO)
    assert await shop.row() == before
    await shop.result(A, INFO, attempt=2)  # the same picture again: the document does not change
    assert (await shop.row())[0] == before[0]


@pytest.mark.parametrize(
    "other",
    [
        {"recipient": "-"},
        {"recipient": "another"},
        {"reference": "default/b"},
        {"reference": "other/a"},
        {"reference": "default"},
        {"reference": "default/a\0"},
        {"reference": ""},
        {"namespace": "shops"},
        {"url": B},
    ],
)
async def test_results_for_others_change_nothing(shop: Shop, other: dict[str, str]) -> None:
    await shop.load(A)
    before = await shop.row()
    given: dict[str, Any] = dict(other)
    assert await shop.result(given.pop("url", A), GONE, **given) == []
    assert await shop.row() == before
    assert (await shop.fetch("SELECT count(*) FROM task_heads"))[0] == 1


async def test_a_failure_is_told_once_to_the_load_that_brought_the_link(shop: Shop) -> None:
    await shop.load(B)
    await shop.load(A, B)
    [late] = await shop.result(A, GONE)
    [error] = late.errors
    assert (late.seller_id, late.namespace, late.task_id) == ("seller", "default", 2)
    assert not error.counted
    issue = error.error
    assert (issue.kind, issue.level, issue.code) == (ISSUE_KIND_PICTURE, ISSUE_LEVEL_WARNING, "PICTURE_NOT_FOUND")
    assert (issue.external_id, issue.line, issue.ordinal) == ("a", 42, 3)
    assert A in issue.message
    assert "404" in issue.message
    assert issue.suggestion
    assert await shop.result(A, GONE) == []
    assert await shop.result(A, GONE, attempt=2) == []
    [late] = await shop.result(A, LoadFailure(code="TOO_LARGE", message="It has 30 MiB"), attempt=3)
    assert late.errors[0].error.code == "PICTURE_TOO_LARGE"


async def test_a_failure_names_the_line_in_the_file_that_brought_the_link(shop: Shop) -> None:
    await shop.load(A, line=42)
    await shop.load(A, B, price=110, line=50)
    await shop.load(A, B, C, price=120, line=60)
    lines = {}
    for url in (A, B, C):
        [late] = await shop.result(url, GONE)
        [error] = late.errors
        lines[late.task_id] = error.error.line
    assert lines == {1: 42, 2: 50, 3: 60}


async def test_a_failure_names_the_line_of_a_change_that_waited(shop: Shop) -> None:
    await shop.load(A)
    await shop.result(A, INFO)
    await shop.load(A, B, price=1000, line=50)
    assert await requested_again(shop) == [B]
    [late] = await shop.result(B, GONE)
    assert (late.task_id, late.errors[0].error.line) == (2, 50)


async def test_each_later_load_with_the_link_has_the_warning_until_the_picture_is_stored(shop: Shop) -> None:
    await shop.load(A, B)
    [late] = await shop.result(A, GONE)
    for price in (100, 120):  # unchanged, changed
        result, _ = await shop.load(A, B, price=price)
        [error] = result.errors
        assert (error.code, error.line, error.ordinal) == ("PICTURE_NOT_FOUND", 42, 3)
        assert error.error_id == late.errors[0].error.error_id
        assert result.counts.rejected_moderation == 0
    result, _ = await shop.load(B, price=120)
    assert list(result.errors) == []
    await shop.load(A, B, price=120)
    await shop.result(A, GONE)
    await shop.result(A, INFO, attempt=2)
    result, _ = await shop.load(A, B, price=120)
    assert list(result.errors) == []


async def test_records_that_say_nothing_of_the_link_do_not_repeat_its_warning(shop: Shop) -> None:
    await shop.load(A)
    await shop.result(A, GONE)
    for record in (shop.records.kept("a"), shop.records.broken("a")):
        result, _ = await shop.load_records([record])
        assert [it.code for it in result.errors if it.kind == ISSUE_KIND_PICTURE] == []


async def test_a_patch_with_links_requests_the_new_ones(shop: Shop, new_load: Any) -> None:
    await shop.load(A)
    record = OfferRecord(kind=RECORD_KIND_OFFER, external_id="a", named_fields=["picture_urls"])
    record.content.picture_urls.extend([A, B])
    record.content_hash = hash_of(record.content)
    replies = await shop.owner.take(new_load([record], task=2, mode=LOAD_MODE_PATCH).messages)
    [message] = [it for it in replies if isinstance(it, PictureRequests)]
    assert [it.url for it in message.requests] == [B]


async def test_pictures_of_a_change_that_waits_are_requested_once_it_is_made(shop: Shop) -> None:
    await shop.load(A)
    await shop.result(A, INFO)
    _, requested = await shop.load(A, B, price=1000)  # the guard sets the change aside until the end of the load
    assert requested == []
    assert (await shop.fetch("SELECT pictures_requested_at = '-infinity' FROM offers"))[0]
    assert await requested_again(shop) == [B]
    assert await shop.states() == {A: OFFER_PICTURE_STATE_STORED, B: OFFER_PICTURE_STATE_AWAITED}
    assert await requested_again(shop) == []
    await shop.load(A, B, price=10)  # another change with the same links
    assert (await shop.fetch("SELECT pictures_requested_at > '-infinity' FROM offers"))[0]


async def test_what_is_awaited_for_too_long_is_requested_again(shop: Shop) -> None:
    await shop.load(A, B)
    await shop.result(A, INFO)
    assert await requested_again(shop) == []
    late = "UPDATE offers SET pictures_requested_at = pictures_requested_at - interval '7201 s'"
    await shop.execute(late)
    assert await requested_again(shop) == [B]
    assert await requested_again(shop) == []
    await shop.execute(late)
    await shop.load_records([shop.records.good("b")])
    assert await requested_again(shop) == []
    assert not (await shop.fetch("SELECT pictures_requested_at IS NOT NULL FROM offers WHERE external_id = 'a'"))[0]


async def test_what_is_requested_again_is_still_due_where_the_request_is_not_kept(shop: Shop) -> None:
    class FullOutbox(Outbox):
        async def put(self, tx: Tx, messages: Sequence[Message], *, shard: int = 0) -> None:
            raise RuntimeError("no room")

    await shop.load(A)
    await shop.execute("UPDATE offers SET pictures_requested_at = pictures_requested_at - interval '7201 s'")
    with pytest.raises(RuntimeError, match="no room"):
        await PictureRequester(shop.owner.database, FullOutbox(), wait_s=7200, period_s=60).round()
    assert await requested_again(shop) == [A]


async def requested_again(shop: Shop) -> list[str]:
    await shop.execute("DELETE FROM outbox")
    await PictureRequester(shop.owner.database, Outbox(), wait_s=7200, period_s=60).round()
    async with shop.owner.database.connection() as connection:
        cursor = await connection.execute("SELECT value FROM outbox WHERE topic = 'pictures.requests.v1'")
        messages = [PictureRequests.FromString(value) for (value,) in await cursor.fetchall()]
    return [it.url for message in messages for it in message.requests]
