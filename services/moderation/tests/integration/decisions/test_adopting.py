"""Decisions that the owner of offers has kept are adopted after a restore, and lost numbers are reported."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from classifeed.moderation.v1.moderation_service_pb2 import SubmitTextsRequest
from classifeed.moderation.v1.offer_texts_pb2 import KeptDecision, LostDecisions, OfferText, TextsToJudge
from classifeed.moderation.v1.subject_pb2 import Ban, Span
from classifeed_common.errors import InvalidArgument
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.rpc.moderation_service.texts import TextMethods

from ...conftest import NO_CONTEXT, Moderation
from .test_verdicts import KEY, outcomes, send, text_hash

BAN = Ban(
    rule="text_auto_obscene",
    field="description",
    span=Span(start=2, end=5, excerpt="bad"),
    message="No.",
    suggestion="Yes.",
)


def kept_text(title: str, ban: Ban | None = None, *, ago_s: float = 0) -> TextsToJudge:
    """Return a text with its kept decision, as its owner sends it."""
    kept = KeptDecision(status="MODERATION_STATUS_DISAPPROVED" if ban else "MODERATION_STATUS_APPROVED", ban=ban)
    kept.decide_time.FromDatetime(datetime.now(UTC) - timedelta(seconds=ago_s))
    text = OfferText(
        external_id="1",
        text_hash=text_hash(title, "a bad one"),
        title=title,
        description="a bad one",
        content_version=5,
        kept_decision=kept,
    )
    return TextsToJudge(seller_id="seller", namespace="default", texts=[text])


async def take(moderation: Moderation, *sent: TextsToJudge) -> None:
    async with moderation.database.transaction() as tx:
        await moderation.take_offer_texts(tx, sent)


async def decided_by(moderation: Moderation) -> list[tuple[str, str, int]]:
    return await moderation.rows(
        "SELECT status, decided_by, jsonb_array_length(verdicts) FROM subjects WHERE next_retry IS NULL"
    )


async def test_a_lost_refusal_is_adopted_with_its_reason_and_without_a_request(moderation: Moderation) -> None:
    await take(moderation, kept_text("lamp", BAN, ago_s=3600))
    assert await decided_by(moderation) == [("DISAPPROVED", "RULE", 1)]
    assert not moderation.queue._known
    first, *_ = await outcomes(moderation)
    [judged] = first.texts
    assert (judged.ban.field, judged.ban.span, judged.ban.message) == ("description", BAN.span, BAN.message)
    await take(moderation, kept_text("lamp", BAN, ago_s=3600))
    repeated = (await outcomes(moderation))[-1].texts[0]
    assert (repeated.decision_id, repeated.ban.span) == (judged.decision_id, BAN.span), "adopted once"


async def test_a_refusal_in_words_of_a_reviewer_is_not_judged_by_rules(moderation: Moderation) -> None:
    await take(moderation, kept_text("lamp", Ban(rule="Sold out, as its seller said")))
    assert await decided_by(moderation) == [("DISAPPROVED", "REVIEWER", 0)]


async def test_the_later_decision_holds(moderation: Moderation) -> None:
    sent_key = await send(moderation, "lamp", "a bad one")
    await moderation.apply(sent_key)
    await take(moderation, kept_text("lamp", BAN, ago_s=60))
    assert (await moderation.subject(KEY)).status is Status.APPROVED
    await take(moderation, kept_text("lamp", BAN, ago_s=-60))
    assert (await moderation.subject(KEY)).status is Status.DISAPPROVED
    await send(moderation, "table", version=9)
    await take(moderation, kept_text("lamp", ago_s=-60))
    assert (await moderation.subject(KEY)).status is Status.PENDING, "the newer text waits for its own verdict"


async def test_numbers_of_lost_decisions_are_reported_once_they_are_asked_for(moderation: Moderation) -> None:
    """Decisions up to a minute before the newest one left may be lost, too; decisions of years ago were deleted."""
    await moderation.apply(await send(moderation, "lamp"))
    [[known]] = await moderation.rows("SELECT decision_id FROM decisions")
    before = len(await outcomes(moderation))
    asked = [TextsToJudge(seller_id="s", namespace="n", applied_decision_id=it) for it in (known, known + 7, 1 << 40)]
    await take(moderation, *asked)
    [reported] = (await outcomes(moderation))[before:]
    expected = LostDecisions(decision_id=known + 7, kept_decision_id=known)
    expected.begin_time.FromMilliseconds((known >> 10) - 60_000)
    assert (reported.seller_id, reported.namespace, reported.lost) == ("s", "n", expected)
    await moderation.rows("DELETE FROM decisions RETURNING 1")
    await take(moderation, asked[0])
    lost = (await outcomes(moderation))[-1].lost
    assert (lost.kept_decision_id, lost.begin_time.ToSeconds()) == (0, 0), "all are lost"


async def test_a_caller_of_submit_texts_decides_about_no_text(moderation: Moderation) -> None:
    texts = TextMethods(moderation.database, moderation.deciding, moderation.judge, moderation.take_offer_texts)
    for sent in (kept_text("lamp"), TextsToJudge(seller_id="s", namespace="n", applied_decision_id=1)):
        with pytest.raises(InvalidArgument, match="by the topic only"):
            await texts.SubmitTexts(SubmitTextsRequest(texts=sent), NO_CONTEXT)
