"""Texts and their verdicts: shown, waiting and refused texts with reasons, under any loads in between."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE, DISPOSITION_MAKE_MANUAL, Disposition
from classifeed.feeds.v1.offer_results_pb2 import LateResult, OfferBatchResult
from classifeed.moderation.v1.offer_texts_pb2 import OfferTextJudged, TextsJudged, TextsToJudge
from classifeed.moderation.v1.subject_pb2 import Ban, Span
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.kafka import MAX_MESSAGE_BYTES
from classifeed_common.outbox import Outbox
from classifeed_domain.offer_names import OfferName
from classifeed_offers.app.manual.delete_offer import delete_offer
from classifeed_offers.app.texts.judge_texts import apply_outcomes
from classifeed_offers.app.texts.request_texts import TextRequester
from classifeed_offers.consumers.requests import reply_message
from classifeed_offers.domain.moderation import ByVerdicts, hash_text, one_line
from classifeed_offers.domain.offers import hash_of

from ...conftest import Load, Owner, Records

BAN = Ban(
    rule="text_auto_obscene",
    field="title",
    span=Span(start=2, end=5, excerpt="bad"),
    message="The text has obscene words.",
    suggestion="Write it without them.",
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Shop:
    """A namespace with one offer: loads of it, and verdicts about its texts."""

    def __init__(self, owner: Any, records: Any, new_load: Any) -> None:
        self.owner, self.records, self.new_load = owner, records, new_load
        owner.moderation = ByVerdicts()
        self.task = 0
        self.now = BEGIN

    async def load(self, title: str, price: int = 100) -> tuple[OfferBatchResult, list[TextsToJudge]]:
        self.task += 1
        record = self.records.good("a", title, price)
        record.ordinal, record.line = 3, 40 + self.task
        load = self.new_load([record], task=self.task)
        replies = await self.owner.take(load.messages)
        while self.owner.sweeps:
            await self.owner.sweep()
        [result] = [it for it in replies if isinstance(it, OfferBatchResult)]
        return result, [it for it in replies if isinstance(it, TextsToJudge)]

    async def judge(self, title: str, *, is_allowed: bool, at: datetime | None = None) -> list[LateResult]:
        self.now += timedelta(seconds=1)
        judged = OfferTextJudged(
            external_id="a",
            text_hash=hash_text(OfferContent(title=title)),
            status="MODERATION_STATUS_APPROVED" if is_allowed else "MODERATION_STATUS_DISAPPROVED",
            ban=None if is_allowed else BAN,
            decide_time=at or self.now,
        )
        message = TextsJudged(seller_id="seller", namespace="default", texts=[judged])
        async with self.owner.database.transaction() as tx:
            return await apply_outcomes(tx, [message])

    async def stored(self) -> Any:
        async with self.owner.database.connection() as connection:
            cursor = await connection.execute(
                "SELECT status, content, published_content, version, text_requested_at IS NOT NULL FROM offers"
            )
            return await cursor.fetchone()

    async def shown(self) -> OfferContent | None:
        """Return the content that the search shows."""
        status, content, published, *_ = await self.stored()
        return OfferContent.FromString(published or content) if status == "ACTIVE" else None


@pytest.fixture
def shop(owner: Any, records: Any, new_load: Any) -> Shop:
    return Shop(owner, records, new_load)


async def test_new_text_waits_and_is_requested_once(shop: Shop) -> None:
    result, [sent] = await shop.load("a lamp")
    assert (result.counts.added, await shop.shown()) == (1, None)
    assert (sent.seller_id, sent.namespace, [text.title for text in sent.texts]) == ("seller", "default", ["a lamp"])
    assert sent.texts[0].text_hash == hash_text(OfferContent(title="a lamp"))
    _, again = await shop.load("a lamp", price=120)
    assert (again, await shop.shown()) == ([], None)


async def test_approved_text_is_not_judged_again_when_a_price_changes(shop: Shop) -> None:
    await shop.load("a lamp")
    await shop.judge("a lamp", is_allowed=True)
    _, sent = await shop.load("a lamp", price=120)
    shown = await shop.shown()
    assert sent == []
    assert shown is not None
    assert shown.price.amount_micros == 120_000_000


async def test_changed_text_waits_and_the_approved_one_is_shown_with_each_new_price(shop: Shop) -> None:
    await shop.load("a lamp")
    await shop.judge("a lamp", is_allowed=True)
    _, sent = await shop.load("a better lamp", price=120)
    assert [text.title for message in sent for text in message.texts] == ["a better lamp"]
    for price in (120, 130):
        await shop.load("a better lamp", price=price)
        shown = await shop.shown()
        assert shown is not None
        assert (shown.title, shown.price.amount_micros) == ("a lamp", price * 1_000_000)
    await shop.judge("a better lamp", is_allowed=True)
    shown = await shop.shown()
    assert shown is not None
    assert shown.title == "a better lamp"


async def test_refused_text_is_banned_and_every_load_says_why(shop: Shop) -> None:
    await shop.load("a bad lamp")
    await shop.judge("a bad lamp", is_allowed=False)
    assert await shop.shown() is None
    for price in (100, 100, 120):  # unchanged, unchanged, changed
        result, sent = await shop.load("a bad lamp", price=price)
        [error] = result.errors
        assert (result.counts.rejected_moderation, sent) == (1, [])
        assert (error.code, error.field, error.excerpt) == ("TEXT_FORBIDDEN", "title", "bad")
        assert "text_auto_obscene" in error.message
        assert error.suggestion == BAN.suggestion
    _, sent = await shop.load("a lamp")
    assert len(sent) == 1
    await shop.judge("a lamp", is_allowed=True)
    assert (await shop.shown()) is not None


async def test_going_back_to_an_approved_text_needs_no_verdict(shop: Shop) -> None:
    await shop.load("a lamp")
    await shop.judge("a lamp", is_allowed=True)
    await shop.load("a bad lamp")
    await shop.judge("a bad lamp", is_allowed=False)
    _, sent = await shop.load("a lamp")
    assert sent == []
    assert (await shop.shown()) is not None


async def test_late_refusal_is_told_once_with_the_task_and_how_it_was_counted(shop: Shop) -> None:
    await shop.load("a bad lamp")
    [late] = await shop.judge("a bad lamp", is_allowed=False)
    [error] = late.errors
    assert (late.task_id, error.counted, error.error.code) == (1, 1, "TEXT_FORBIDDEN")
    assert (error.error.ordinal, error.error.line) == (3, 41)
    assert await shop.judge("a bad lamp", is_allowed=False) == []


async def test_a_late_refusal_names_the_line_in_the_file_that_changed_the_offer(shop: Shop) -> None:
    await shop.load("a lamp")
    await shop.judge("a lamp", is_allowed=True)
    await shop.load("a bad lamp")
    [late] = await shop.judge("a bad lamp", is_allowed=False)
    assert (late.task_id, late.errors[0].error.line) == (2, 42)


async def test_a_late_refusal_of_what_a_load_lacks_names_no_line(shop: Shop) -> None:
    await shop.load("a bad lamp")
    lacking = shop.new_load([], task=2, disposition=DISPOSITION_MAKE_MANUAL)
    await shop.owner.take(lacking.messages)
    await shop.owner.sweep()
    [late] = await shop.judge("a bad lamp", is_allowed=False)
    assert (late.task_id, late.errors[0].error.ordinal, late.errors[0].error.line) == (2, 0, 0)


async def test_outcomes_that_are_repeated_older_or_about_another_text_change_nothing(shop: Shop) -> None:
    await shop.load("a lamp")
    await shop.judge("a lamp", is_allowed=True)
    await shop.judge("a lamp", is_allowed=False)
    before = await shop.stored()
    await shop.judge("a lamp", is_allowed=True, at=BEGIN + timedelta(seconds=1))
    await shop.judge("another lamp", is_allowed=True)
    assert await shop.stored() == before
    assert before[0] == "BANNED"


async def test_texts_without_an_outcome_are_requested_again(shop: Shop) -> None:
    await shop.load("a lamp")
    requester = TextRequester(shop.owner.database, Outbox(), wait_s=900, period_s=60)

    async def requested() -> int:
        await requester.round()
        async with shop.owner.database.connection() as connection:
            cursor = await connection.execute("SELECT count(*) FROM outbox WHERE topic = 'moderation.requests.v1'")
            return int((await cursor.fetchone())[0])

    assert await requested() == 0
    async with shop.owner.database.connection() as connection:
        await connection.execute("UPDATE offers SET text_requested_at = text_requested_at - interval '901 s'")
    assert await requested() == 1
    assert await requested() == 1
    await shop.judge("a lamp", is_allowed=True)
    assert (await shop.stored())[4] is False


async def test_many_long_texts_fit_into_messages(owner: Owner, records: Records, new_load: type[Load]) -> None:
    owner.moderation = ByVerdicts()
    long = []
    for number in range(150):
        record = records.good(f"{number:03}")
        record.content.description = "a long text " * 1_000
        record.content_hash = hash_of(record.content)
        long.append(record)
    replies = await owner.take(new_load(long, batch_size=15).messages)
    requested = [it for it in replies if isinstance(it, TextsToJudge)]
    assert max(reply_message(it).size_bytes for it in requested) <= MAX_MESSAGE_BYTES
    assert {text.external_id for it in requested for text in it.texts} == {it.external_id for it in long}

    async with owner.database.connection() as connection:
        await connection.execute("UPDATE offers SET text_requested_at = text_requested_at - interval '901 s'")
    await TextRequester(owner.database, Outbox(), wait_s=900, period_s=60).round()
    async with owner.database.connection() as connection:
        rows = await (await connection.execute("SELECT value FROM outbox")).fetchall()
    again = [text.external_id for (value,) in rows for text in TextsToJudge.FromString(value).texts]
    assert sorted(again) == [it.external_id for it in long]


async def test_versions_of_texts_grow_with_every_request_also_after_a_restore(shop: Shop) -> None:
    """Moderation takes no text with a version below its own: text from before a restore must not win."""
    _, [first] = await shop.load("a lamp")
    _, [second] = await shop.load("a table")
    await shop.load("a lamp")
    async with shop.owner.database.connection() as connection:  # a restore: the first load becomes the last one
        await connection.execute(
            "UPDATE offers SET last_task_id = 1, text_requested_at = text_requested_at - interval '901 s'"
        )
    await TextRequester(shop.owner.database, Outbox(), wait_s=900, period_s=60).round()
    async with shop.owner.database.connection() as connection:
        cursor = await connection.execute("SELECT value FROM outbox WHERE topic = 'moderation.requests.v1'")
        [again] = [TextsToJudge.FromString(value) for (value,) in await cursor.fetchall()]
    versions = [message.texts[0].content_version for message in (first, second, again)]
    assert versions == sorted(set(versions))


async def test_rows_from_before_texts_were_hashed_keep_what_they_show(shop: Shop) -> None:
    await shop.load("a lamp")
    async with shop.owner.database.connection() as connection:
        await connection.execute(
            "UPDATE offers SET status = 'ACTIVE', text_hash = NULL, approved_text_hash = NULL, text_requested_at = NULL"
        )
    _, sent = await shop.load("a lamp", price=110)
    assert sent == []
    _, sent = await shop.load("a new lamp", price=120)
    shown = await shop.shown()
    assert len(sent) == 1
    assert shown is not None
    assert (shown.title, shown.price.amount_micros) == ("a lamp", 120_000_000)


def test_markup_and_spaces_do_not_make_another_text() -> None:
    assert one_line("A <b>big</b>&nbsp;lamp\n\n now") == "A big lamp now"
    assert hash_text(OfferContent(title=" A  lamp")) == hash_text(OfferContent(title="A <i>lamp</i>"))


@pytest.mark.parametrize("seed", range(5))
async def test_random_loads_and_verdicts_never_show_what_is_not_approved(shop: Shop, seed: int) -> None:
    chance = random.Random(seed)
    titles = ["a lamp", "a table", "a chair"]
    verdicts: dict[str, bool] = {}
    title, price = "", 0
    waiting: list[str] = []
    for _ in range(40):
        if not title or chance.random() < 0.5:
            title, price = chance.choice(titles), chance.randint(100, 120)
            _, sent = await shop.load(title, price)
            waiting += [text.title for message in sent for text in message.texts]
        else:
            judged = chance.choice(titles if chance.random() < 0.3 or not waiting else waiting)
            allowed = chance.random() < 0.6
            await shop.judge(judged, is_allowed=allowed)
            if judged == title:
                verdicts[judged] = allowed
            elif judged in verdicts and verdicts[judged] != allowed:
                continue  # the owner knows no verdict about a text that it does not have
        shown = await shop.shown()
        if shown is not None:
            assert verdicts.get(shown.title) is True
            assert shown.price.amount_micros == price * 1_000_000
        elif verdicts.get(title) is True:
            pytest.fail(f"{title} was approved and is not shown")


async def test_moderation_learns_which_offers_were_removed_while_their_texts_waited(shop: Shop) -> None:
    """Once, in the next round, and not for an offer that is back, or whose text was decided."""
    requester = TextRequester(shop.owner.database, Outbox(), wait_s=900, period_s=60)

    async def remove(disposition: Disposition = DISPOSITION_DELETE) -> None:
        shop.task += 1
        load = shop.new_load([shop.records.good("other")], task=shop.task, disposition=disposition)
        await shop.owner.load(load)

    async def removals() -> list[int]:
        """Return the versions of the removals of the offer that were sent since the last call."""
        await requester.round()
        async with shop.owner.database.connection() as connection:
            rows = await (await connection.execute("DELETE FROM outbox RETURNING value")).fetchall()
        sent = [TextsToJudge.FromString(value) for (value,) in rows]
        assert not any(text.external_id == "a" for message in sent for text in message.texts)
        return [it.content_version for message in sent for it in message.removed if it.external_id == "a"]

    _, [first] = await shop.load("a lamp")
    await remove()
    [removed] = await removals()
    assert await removals() == []
    _, [back] = await shop.load("a lamp")
    assert first.texts[0].content_version < removed < back.texts[0].content_version
    await remove()
    await shop.load("a lamp")
    assert await removals() == [], "it is back before the round"
    await shop.judge("a lamp", is_allowed=True)
    await remove()
    assert await removals() == []
    await shop.load("a new lamp")
    await remove(DISPOSITION_MAKE_MANUAL)
    await delete_offer(shop.owner.database, OfferName("seller", "default", "a"), version=0, timeout_s=None)
    assert len(await removals()) == 1, "by hand"
