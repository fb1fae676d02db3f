"""Verdicts of callbacks: late, unrequested, early, repeated, or for another text; and their contents."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

import pytest

from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsJudged, TextsToJudge
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.domain.verdicts import (
    Verdict,
    VerdictList,
    VerdictsInvalidError,
    parse_callback,
    parse_verdicts,
)
from classifeed_moderation.metrics import ABNORMAL, UNKNOWN_VERDICTS

from ...conftest import CLEAN, END, PENDING_S, PEOPLE, MakeModeration, Moderation, result, verdict

BAD = "text_toloka_obscene"
KEY = "offer/seller/default/1"


def text_hash(title: str, description: str) -> bytes:
    return blake2b(f"{title}\0{description}".encode(), digest_size=16).digest()


async def send(moderation: Moderation, title: str, description: str = "", *, version: int = 1) -> str:
    """Send the text of an offer as its owner does; return its key at the verdict service."""
    text = OfferText(
        external_id="1",
        text_hash=text_hash(title, description),
        title=title,
        description=description,
        content_version=version,
        region_ids=[1],
    )
    async with moderation.database.transaction() as tx:
        await moderation.take_offer_texts(tx, [TextsToJudge(seller_id="seller", namespace="default", texts=[text])])
    return f"{KEY}~{text.text_hash.hex()}"


async def outcomes(moderation: Moderation) -> list[TextsJudged]:
    rows = await moderation.rows("SELECT value FROM outbox WHERE topic = 'moderation.outcomes.v1' ORDER BY id")
    return [TextsJudged.FromString(value) for (value,) in rows]


async def not_applied(moderation: Moderation) -> list[str]:
    rows = await moderation.rows("SELECT not_applied_reason FROM decisions ORDER BY decision_id")
    return [reason for (reason,) in rows]


async def test_late_verdict_of_people(moderation: Moderation) -> None:
    moderation.stand_in.content = PEOPLE
    moderation.start()
    point_id = await moderation.create_point()
    await until(lambda: not moderation.queue._known and bool(moderation.stand_in.requests))
    await moderation.apply(point_id, BAD)
    assert (await moderation.subject(point_id)).status is Status.DISAPPROVED


async def test_unasked_verdict_removes_what_was_approved(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id)
    assert (await moderation.subject(point_id)).status is Status.APPROVED
    await moderation.apply(point_id, BAD)
    subject = await moderation.subject(point_id)
    assert (subject.status, [item.name for item in subject.verdicts]) == (Status.DISAPPROVED, [BAD])


@pytest.mark.parametrize("response", [PEOPLE, CLEAN])
async def test_callback_before_our_own_response(moderation: Moderation, response: bytes) -> None:
    moderation.stand_in.content = response
    moderation.stand_in.released.clear()
    moderation.start()
    point_id = await moderation.create_point()
    await moderation.stand_in.arrived.wait()
    await moderation.apply(point_id, BAD)
    moderation.stand_in.released.set()
    await until(lambda: not moderation.queue._known)
    subject = await moderation.subject(point_id)
    assert (subject.status, subject.next_retry) == (Status.DISAPPROVED, None)


async def test_at_another_instance(make_moderation: MakeModeration) -> None:
    first, second = await make_moderation(), await make_moderation()
    point_id = await first.create_point()
    await second.apply(point_id, BAD)
    assert (await first.subject(point_id)).status is Status.DISAPPROVED


async def test_twice_changes_nothing(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "police")
    tables = ("points", "subjects", "decisions", "outbox")
    before = [await moderation.rows(f"TABLE {table}") for table in tables]
    await moderation.apply(point_id, "police")
    assert [await moderation.rows(f"TABLE {table}") for table in tables] == before


async def test_unknown_key_is_told(moderation: Moderation) -> None:
    applied = await moderation.apply("11111111-1111-1111-1111-111111111111", BAD)
    assert applied.unknown_keys == ["11111111-1111-1111-1111-111111111111"]


async def test_without_the_end_only_forbidden_verdicts_are_applied(moderation: Moderation) -> None:
    before = ABNORMAL._value.get()
    good, bad = await moderation.create_point(), await moderation.create_point()
    await moderation.apply(good, "police", has_end=False)
    await moderation.apply(bad, BAD, has_end=False)
    assert (await moderation.subject(good)).status is Status.PENDING
    assert (await moderation.subject(bad)).status is Status.DISAPPROVED
    assert await not_applied(moderation) == ["INCOMPLETE", ""]
    assert await moderation.rows("SELECT count(*) FROM verdict_cache") == [(0,)], "equal texts get whole lists only"
    assert ABNORMAL._value.get() - before == 2


async def test_empty_list_never_approves(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, has_end=False)
    assert (await moderation.subject(point_id)).status is Status.PENDING


async def test_end_alone_approves_without_verdicts(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id)
    subject = await moderation.subject(point_id)
    assert (subject.status, subject.verdicts) == (Status.APPROVED, ())


async def test_verdict_that_no_rule_names_forbids_and_is_counted(moderation: Moderation) -> None:
    before = UNKNOWN_VERDICTS._value.get()
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "text_auto_novelty")
    assert (await moderation.subject(point_id)).status is Status.DISAPPROVED
    assert UNKNOWN_VERDICTS._value.get() - before == 1


async def test_verdicts_of_one_answer_are_judged_together(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "police", "request", BAD)
    subject = await moderation.subject(point_id)
    assert subject.status is Status.DISAPPROVED
    assert await moderation.rows("SELECT tags FROM points") == [(["other"],)]


async def test_a_removed_point_stays_removed(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, BAD)
    await moderation.apply(point_id)
    assert (await moderation.subject(point_id)).status is Status.DISAPPROVED
    assert await not_applied(moderation) == ["", "ALREADY_DISAPPROVED"]


async def test_tags_follow_the_verdicts_with_the_status(moderation: Moderation) -> None:
    point_id = await moderation.create_point(tags=("other",))
    [(version,)] = await moderation.rows("SELECT version FROM points")
    await moderation.apply(point_id, "request", "police")
    [(tags, later)] = await moderation.rows("SELECT tags, version FROM points")
    assert (tags, later > version) == (["police", "speed_control"], True)
    assert (await moderation.subject(point_id)).status is Status.APPROVED
    assert await moderation.rows("SELECT tags_before, tags_after, rule_set FROM decisions") == [
        (["other"], ["police", "speed_control"], moderation.rules.version)
    ]


async def test_verdict_for_a_changed_text_is_kept_and_not_applied(moderation: Moderation) -> None:
    old = await send(moderation, "old")
    new = await send(moderation, "new", version=2)
    await moderation.apply(old, BAD)
    assert (await moderation.subject(KEY)).status is Status.PENDING
    assert await not_applied(moderation) == ["TEXT_CHANGED"]
    await moderation.apply(new)
    assert (await moderation.subject(KEY)).status is Status.APPROVED


async def test_bare_key_of_an_offer_counts_as_unasked(moderation: Moderation) -> None:
    sent = await send(moderation, "text")
    await moderation.apply(sent)
    await moderation.apply(KEY)  # allowed: recorded, not applied
    assert (await moderation.subject(KEY)).status is Status.APPROVED
    await moderation.apply(KEY, BAD)  # forbidden: the current text is requested again
    subject = await moderation.subject(KEY)
    assert (subject.status, subject.next_retry is not None) == (Status.PENDING, True)
    assert await not_applied(moderation) == ["", "KEY_WITHOUT_VERSION", "KEY_WITHOUT_VERSION"]
    assert len(await outcomes(moderation)) == 1
    moderation.start()
    await moderation.corrector.round(Kind.OFFER)
    await until(lambda: bool(moderation.stand_in.requests))


async def test_a_recheck_does_not_take_kept_verdicts(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(kept_s=3600.0)
    await moderation.apply(await send(moderation, "text"))
    await moderation.apply(KEY, BAD)
    await moderation.corrector.round(Kind.OFFER)
    assert moderation.queue.lengths()[Kind.OFFER] == 1


async def test_older_and_equal_texts_change_nothing(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "new", version=2), BAD)
    await send(moderation, "old", version=1)
    subject = await moderation.subject(KEY)
    assert (subject.text, subject.status) == ("new\n", Status.DISAPPROVED)
    await send(moderation, "new", version=3)
    told = await outcomes(moderation)
    assert [item.texts[0].decision_id for item in told] == [told[0].texts[0].decision_id] * 2
    assert told[0].texts[0].ban == told[1].texts[0].ban


async def test_outcome_names_rule_field_and_span(moderation: Moderation) -> None:
    moderation.stand_in.content = result(verdict(BAD, spans=[{"start": 8, "end": 11, "excerpt": "bad"}]), END)
    moderation.start()
    await send(moderation, "A lamp", "a bad one")
    await moderation.corrector.round(Kind.OFFER)
    await until(lambda: not moderation.queue._known)
    [judged] = await outcomes(moderation)
    ban = judged.texts[0].ban
    assert (judged.seller_id, judged.namespace, judged.texts[0].external_id) == ("seller", "default", "1")
    assert (ban.rule, ban.field, ban.span.excerpt) == (BAD, "description", " ba")
    assert (ban.span.start, ban.span.end) == (1, 4)
    assert ban.message == "The text has obscene words."


@pytest.mark.parametrize(
    "found",
    [None, {}, "text", [5], [{}], [{"name": ""}], [{"name": 1}], [{"name": "a" * 129}], [{"name": "a\0"}]],
)
def test_no_list_of_verdicts_is_refused(found: object) -> None:
    with pytest.raises(VerdictsInvalidError):
        parse_verdicts(found)


def test_callback_has_several_keys_each_with_its_end() -> None:
    found = parse_callback(
        [
            verdict("police", key="a"),
            verdict(BAD, key="b", value=False),
            verdict(BAD, key="b", entity="picture"),
            {**END, "key": "b"},
        ]
    )
    assert [item.name for item in found["a"].verdicts] == ["police"]
    assert (found["a"].has_end, found["b"].has_end) == (False, True)
    assert (found["b"].verdicts, found["b"].ignored) == ((), 1)


@pytest.mark.parametrize("found", [[], [verdict("police")], [verdict("police", key="")], [verdict("police", key=5)]])
def test_callback_without_a_key_is_refused(found: object) -> None:
    with pytest.raises(VerdictsInvalidError):
        parse_callback(found)


async def test_many_at_once_do_not_block_one_another(make_moderation: MakeModeration) -> None:
    """Batches with the same texts in other orders: no deadlock."""
    first, second = await make_moderation(), await make_moderation()
    keys = [await first.create_point(f"text {number}") for number in range(20)]
    await asyncio.gather(
        *(
            moderation.apply(key, "police")
            for order in (keys, keys[::-1])
            for key in order
            for moderation in (first, second)
        )
    )
    assert await first.rows("SELECT count(*) FROM decisions WHERE is_applied") == [(20,)]


INCOMPLETE = VerdictList((Verdict("police"),), has_end=False)
_WRITTEN = "SELECT (SELECT count(*) FROM decisions), (SELECT count(*) FROM outbox)"


async def next_request_s(moderation: Moderation) -> int:
    [(seconds,)] = await moderation.rows("SELECT round(extract(epoch FROM next_retry - now())) FROM subjects")
    return int(seconds)


async def test_a_repeated_incomplete_response_writes_nothing_and_is_requested_later_and_later(
    moderation: Moderation,
) -> None:
    """Fails if each retry leaves a decision."""
    point_id = await moderation.create_point()
    waits = []
    for wait_s in (0, 60, 60, 120, 240, 480, 600, 600):
        await moderation.advance(wait_s)
        await moderation.rows(
            "UPDATE decisions SET recorded_at = recorded_at - %s * interval '1 s' RETURNING 1", wait_s
        )
        # The claim of a request moves it like this.
        await moderation.rows("UPDATE subjects SET next_retry = now() + interval '60 s' RETURNING 1")
        await moderation.record_verdicts([Arrived(str(point_id), INCOMPLETE, is_response=True)])
        waits.append(await next_request_s(moderation))
        assert await moderation.rows(_WRITTEN) == [(1, 0)]
    assert waits == pytest.approx([60, 60, 120, 240, 480, 600, 600, 600], abs=10)  # the test itself takes seconds
    assert (await moderation.subject(point_id)).status is Status.PENDING
    await moderation.apply(point_id)
    assert (await moderation.subject(point_id)).status is Status.APPROVED


async def test_a_worker_that_gets_incomplete_verdicts_writes_one_decision(moderation: Moderation) -> None:
    moderation.stand_in.content = result(verdict("police"))
    moderation.start()
    await moderation.create_point()
    for number in range(1, 4):
        await until(lambda number=number: len(moderation.stand_in.requests) == number)  # type: ignore[misc]

        async def is_recorded() -> bool:
            return await moderation.rows(_WRITTEN) == [(1, 0)]

        await until(is_recorded)
        await until(lambda: moderation.queue.lengths()[Kind.POINT] == 0 and not moderation.queue._known)
        await moderation.advance(2 * PENDING_S)
        await moderation.corrector.round(Kind.POINT)
    assert await moderation.rows(_WRITTEN) == [(1, 0)]


async def test_a_repeated_callback_moves_no_request_and_writes_nothing(moderation: Moderation) -> None:
    """A sender of callbacks can neither delay requests nor fill the table of decisions."""
    stale = await send(moderation, "A lamp")
    await send(moderation, "A table", version=2)
    await moderation.rows("UPDATE subjects SET next_retry = now() + interval '60 s' RETURNING 1")
    for _ in range(3):
        for key, has_end in ((stale, True), (KEY, True)):
            await moderation.apply(key, "text_auto_allowed_nowhere" if key == stale else "police", has_end=has_end)
        await moderation.rows("UPDATE decisions SET recorded_at = recorded_at - interval '1 h' RETURNING 1")
        await moderation.record_verdicts(
            [Arrived(await send(moderation, "A table", version=2), INCOMPLETE, "callback-1")]
        )
    assert sorted(await not_applied(moderation)) == ["INCOMPLETE", "KEY_WITHOUT_VERSION", "TEXT_CHANGED"]
    assert await next_request_s(moderation) <= 60


async def test_a_bare_key_that_forbids_is_rechecked_once_while_it_waits(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"))
    for _ in range(3):
        await moderation.apply(KEY, "text_auto_obscene")
    assert await not_applied(moderation) == ["", "KEY_WITHOUT_VERSION"]
    assert (await moderation.subject(KEY)).status is Status.PENDING
    await moderation.apply(await send(moderation, "A lamp"))
    assert (await moderation.subject(KEY)).status is Status.APPROVED
    await moderation.apply(KEY, "text_auto_obscene")
    assert (await moderation.subject(KEY)).status is Status.PENDING, "another state: it is requested again"


async def send_equal(moderation: Moderation) -> str:
    """Send another offer with the text "A lamp"; return its key at the verdict service."""
    text = OfferText(
        external_id="2", text_hash=text_hash("A lamp", ""), title="A lamp", content_version=1, region_ids=[1]
    )
    async with moderation.database.transaction() as tx:
        await moderation.take_offer_texts(tx, [TextsToJudge(seller_id="seller", namespace="default", texts=[text])])
    return f"offer/seller/default/2~{text.text_hash.hex()}"


async def test_the_verdicts_of_an_equal_text_release_no_text_that_is_rechecked(make_moderation: MakeModeration) -> None:
    """The text is requested from the verdict service, because kept verdicts are in doubt."""
    moderation = await make_moderation(kept_s=3600)
    await moderation.apply(await send(moderation, "A lamp"))
    await moderation.apply(KEY, "text_auto_obscene")
    await moderation.rows("UPDATE subjects SET next_retry = now() + interval '60 s' RETURNING 1")
    await moderation.apply(await send_equal(moderation))
    rows = "SELECT is_recheck, next_retry > now() + interval '30 s' FROM subjects WHERE subject_key = %s"
    assert await moderation.rows(rows, KEY) == [(True, True)]
    await moderation.advance(3600)
    await moderation.corrector.round(Kind.OFFER)
    assert moderation.queue.lengths()[Kind.OFFER] == 1
    assert (await moderation.subject(KEY)).status is Status.PENDING
