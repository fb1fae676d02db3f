"""Texts of offers on arrival: queued at once, or due, and never lost between the two."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

import psycopg
import pytest

from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsToJudge
from classifeed_devkit.testing.pauses import HeldPauses
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.decisions import record_verdicts
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.judging import correct_pending
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.domain.verdicts import VerdictList
from classifeed_moderation.metrics import DROPPED

from ...conftest import PEOPLE, RETRY_S, MakeModeration, Moderation


def texts_of(titles: dict[str, str], *, version: int = 1) -> TextsToJudge:
    """Return texts of offers, by external id."""
    return TextsToJudge(
        seller_id="seller",
        namespace="default",
        texts=[
            OfferText(
                external_id=external_id,
                title=title,
                text_hash=blake2b(title.encode(), digest_size=16).digest(),
                content_version=version,
            )
            for external_id, title in titles.items()
        ],
    )


async def take(moderation: Moderation, titles: dict[str, str], *, version: int = 1) -> None:
    async with moderation.database.transaction() as tx:
        await moderation.take_offer_texts(tx, [texts_of(titles, version=version)])


def queued(moderation: Moderation) -> list[str]:
    return [task.text.strip() for task in moderation.queue._waiting[Kind.OFFER]]


async def due(moderation: Moderation) -> set[str]:
    rows = await moderation.rows(
        "SELECT external_id FROM subjects WHERE status = 'PENDING' AND next_retry <= clock_timestamp()"
    )
    return {external_id for (external_id,) in rows}


async def decided(moderation: Moderation) -> dict[str, str]:
    return dict(await moderation.rows("SELECT external_id, status FROM subjects"))


async def test_new_texts_are_queued_without_a_claim(moderation: Moderation) -> None:
    await take(moderation, {"1": "chair", "2": "table"})
    assert queued(moderation) == ["chair", "table"]
    assert await due(moderation) == set()
    assert not moderation.corrector._woken[Kind.OFFER].is_set(), "nothing is left for it"
    rows = await moderation.rows("SELECT extract(epoch FROM next_retry - started)::float8 FROM subjects")
    assert [pytest.approx(RETRY_S, abs=1)] * 2 == [delay_s for (delay_s,) in rows]


async def test_half_of_the_queue_is_for_texts_that_are_due(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(queue_size=6)
    await take(moderation, {str(number): f"text {number}" for number in range(5)})
    assert len(queued(moderation)) == 3
    assert await due(moderation) == {"3", "4"}
    assert moderation.corrector._woken[Kind.OFFER].is_set()
    await take(moderation, {"late": "text of later"})
    assert await due(moderation) == {"3", "4", "late"}, "nothing overtakes what is due"
    await moderation.corrector.round(Kind.OFFER)
    assert len(queued(moderation)) == 6
    assert await due(moderation) == set()


async def take_and_roll_back(moderation: Moderation, titles: dict[str, str]) -> None:
    async with moderation.database.transaction() as tx:
        await moderation.take_offer_texts(tx, [texts_of(titles)])
        raise psycopg.Rollback


async def test_nothing_is_queued_where_the_transaction_is_rolled_back(moderation: Moderation) -> None:
    await take_and_roll_back(moderation, {"1": "chair"})
    assert queued(moderation) == []
    await take(moderation, {"1": "chair"})
    assert queued(moderation) == ["chair"]


async def test_what_was_queued_in_a_process_that_died_is_due_again(make_moderation: MakeModeration) -> None:
    await take(await make_moderation(), {"1": "chair"})  # its queue is lost with it
    other = await make_moderation()
    await other.corrector.round(Kind.OFFER)
    assert queued(other) == []
    await other.advance(RETRY_S)
    await other.corrector.round(Kind.OFFER)
    assert queued(other) == ["chair"]


async def test_of_equal_texts_one_is_requested_and_all_are_decided(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(kept_s=3600, check_s=0.05)
    await take(moderation, {"1": "chair", "2": "Chair", "3": "table"})
    assert queued(moderation) == ["chair", "table"]
    moderation.start(moderation.judge.run, moderation.corrector.run)
    approved = dict.fromkeys("123", "APPROVED")

    async def all_are_decided() -> bool:
        return await decided(moderation) == approved

    await until(all_are_decided)
    assert sorted(text.strip() for text in moderation.stand_in.texts) == ["chair", "table"]


async def test_a_new_text_is_queued_although_its_equal_was_there(moderation: Moderation) -> None:
    moderation.stand_in.content = PEOPLE
    await take(moderation, {"1": "chair"})
    moderation.queue.done(await moderation.queue.take())
    await take(moderation, {"1": "chair", "2": "CHAIR"})
    assert queued(moderation) == ["CHAIR"], "the first is the same as before, so it is not requested now"


async def test_kept_verdicts_decide_without_a_request(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(kept_s=3600)
    await take(moderation, {"1": "chair"})
    moderation.start()
    await until(lambda: not moderation.queue._known)
    await take(moderation, {"2": "chair", "3": "table"})
    assert await due(moderation) == {"2"}
    await moderation.corrector.round(Kind.OFFER)
    assert (await decided(moderation))["2"] == "APPROVED"
    await until(lambda: not moderation.queue._known)
    assert sorted(text.strip() for text in moderation.stand_in.texts) == ["chair", "table"]


async def test_an_edit_is_queued_and_an_older_text_is_not(moderation: Moderation) -> None:
    await take(moderation, {"1": "chair"}, version=2)
    await take(moderation, {"1": "stool"}, version=3)
    await take(moderation, {"1": "old chair"}, version=1)
    assert queued(moderation) == ["chair", "stool"]


async def test_workers_that_wait_share_what_comes_at_once(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(workers=8, batch=2)
    takers = [asyncio.create_task(moderation.queue.take()) for _ in range(4)]
    await asyncio.sleep(0)
    await take(moderation, {str(number): f"text {number}" for number in range(5)})
    async with asyncio.timeout(30):
        sizes = [len(await taker) for taker in takers[:3]]
    assert sizes == [2, 2, 1]
    assert not takers[3].done()
    takers[3].cancel()


async def test_responses_that_come_after_a_small_transaction_are_recorded_together(
    make_moderation: MakeModeration, monkeypatch: pytest.MonkeyPatch
) -> None:
    moderation = await make_moderation(workers=40, batch=4)  # so that a few responses do not end the linger pause
    pauses = HeldPauses(monkeypatch, record_verdicts)
    await take(moderation, {str(number): f"text {number}" for number in range(4)})
    sent = [task.sent_key for task in await moderation.queue.take()]
    clean = [Arrived(key, VerdictList((), has_end=True)) for key in sent]
    await moderation.record_verdicts(clean[:1], gathers=True)
    async with asyncio.timeout(30):
        await pauses.begun.wait()
    waiting = [asyncio.create_task(moderation.record_verdicts([item], gathers=True)) for item in clean[1:3]]
    await asyncio.sleep(0)
    assert len(await moderation.rows("SELECT 1 FROM decisions")) == 1
    async with asyncio.timeout(30):
        await moderation.record_verdicts(clean[3:])  # a caller waits for it
        await asyncio.gather(*waiting)
    transactions = await moderation.rows("SELECT count(*) FROM decisions GROUP BY xmin ORDER BY 1")
    assert transactions == [(1,), (3,)]
    pauses.end()


async def test_responses_wait_for_no_more_than_may_be_under_way(
    make_moderation: MakeModeration, monkeypatch: pytest.MonkeyPatch
) -> None:
    HeldPauses(monkeypatch, record_verdicts)
    moderation = await make_moderation(workers=5, queue_size=1000)
    await take(moderation, {str(number): f"text {number}" for number in range(40)})
    moderation.start()
    await until(lambda: not moderation.queue._known)
    assert set((await decided(moderation)).values()) == {"APPROVED"}


async def test_texts_that_become_due_after_a_round_are_claimed_together(
    moderation: Moderation, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = HeldPauses(monkeypatch, correct_pending)
    moderation.start(moderation.corrector.run)
    await until(lambda: pauses.count == len(Kind))
    await take(moderation, {"1": "chair", "2": "table"})
    while moderation.queue.lengths()[Kind.OFFER]:
        moderation.queue.done(await moderation.queue.take())
    await moderation.advance(RETRY_S)
    moderation.corrector.wake()
    assert queued(moderation) == []
    pauses.end()
    await until(lambda: queued(moderation) == ["chair", "table"])


async def test_texts_are_queued_while_workers_run(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(is_closed=True)
    stop = asyncio.Event()
    judging = asyncio.create_task(moderation.judge.run(stop))
    await until(lambda: moderation.queue.is_open)
    await take(moderation, {"1": "chair"})
    await until(lambda: not moderation.queue._known)
    assert await decided(moderation) == {"1": "APPROVED"}
    stop.set()
    await judging
    await take(moderation, {"2": "table"})
    assert await due(moderation) == {"2"}
    assert queued(moderation) == []


async def test_without_workers_texts_are_due_at_once_and_left_to_others(make_moderation: MakeModeration) -> None:
    moderation, other = await make_moderation(is_closed=True), await make_moderation()
    before = DROPPED.labels("point")._value.get()
    await take(moderation, {"1": "chair"})
    point_id = await moderation.create_point()
    assert DROPPED.labels("point")._value.get() == before, "its queue is not full"
    for kind, key in ((Kind.OFFER, "offer/seller/default/1"), (Kind.POINT, str(point_id))):
        assert await moderation.corrector.round(kind) is True
        assert not moderation.queue.half_empty(kind).is_set(), "the next round begins with the workers"
        assert await other.corrector.round(kind) is False
        assert [task.key for task in other.queue._waiting[kind]] == [key]
    assert sum(moderation.queue.lengths().values()) == 0
