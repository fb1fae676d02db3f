"""Stored verdicts are judged again by other rules: changes, non-changes, and the effects of an interruption."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import pytest

from classifeed.moderation.v1.events_pb2 import ModerationEvent
from classifeed.moderation.v1.subject_pb2 import (
    MODERATION_STATUS_APPROVED,
    MODERATION_STATUS_DISAPPROVED,
    SUBJECT_KIND_OFFER,
)
from classifeed_common.db import Tx
from classifeed_common.errors import InvalidArgument, NotFound
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_moderation.app.decisions.apply_verdicts import Arrived, apply_verdicts
from classifeed_moderation.app.decisions.record_decisions import Rules
from classifeed_moderation.app.decisions.rejudge_texts import rejudge_slice
from classifeed_moderation.app.points.vote_point import vote_point
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.domain.verdicts import Verdict, VerdictList
from classifeed_moderation.jobs.rejudge import TASK
from classifeed_moderation.metrics import DECISIONS, SHADOWED
from classifeed_moderation.store import rejudging, subjects

from ...conftest import Moderation, default_rules
from ..rejudger import (
    INSULT,
    Rejudger,
    changes_of,
    found_of,
    made,
    other_rules,
    rules_with,
    seed,
)
from .test_appeals import refuse_on_appeal
from .test_verdicts import KEY, outcomes, send


async def slice_of(moderation: Moderation, rules: Rules, *, is_dry_run: bool = False) -> None:
    """Judge all texts, as one slice."""
    async with moderation.database.transaction() as tx:
        request_id = f"{moderation.clock.now()}"
        await rejudging.add_rejudgement(tx, request_id, None, is_dry_run=is_dry_run)
        await rejudge_slice(
            tx,
            moderation.deciding_by(rules),
            request_id=request_id,
            kind=None,
            is_dry_run=is_dry_run,
            after="",
        )


async def test_a_dry_run_counts_what_the_run_then_does(moderation: Moderation) -> None:
    count = 2400
    await seed(moderation, count)
    rejudger = Rejudger(moderation, other_rules())
    tables = ("subjects", "points", "decisions", "outbox")
    before = [await moderation.rows(f"TABLE {table}") for table in tables]
    assert not (await rejudger.begin("dry", dry_run=True)).done
    dry = await rejudger.ends("dry")
    assert found_of(dry) == changes_of(count)
    assert sorted(map(str, [await moderation.rows(f"TABLE {table}") for table in tables])) == sorted(map(str, before))
    await rejudger.begin()
    assert found_of(await rejudger.ends()) == changes_of(count)
    assert await made(moderation, count) == changes_of(count)[1]
    await rejudger.begin("again", dry_run=True)
    assert found_of(await rejudger.ends("again")) == (changes_of(count)[0], Counter())
    assert moderation.stand_in.requests == []


async def test_only_texts_of_the_kind_are_judged(moderation: Moderation) -> None:
    await seed(moderation, 2400)
    rejudger = Rejudger(moderation, other_rules())
    await rejudger.begin(kind=SUBJECT_KIND_OFFER)
    judged, changes = found_of(await rejudger.ends())
    assert judged == changes_of(2400)[0] // 3
    assert changes == Counter({key: n for key, n in changes_of(2400)[1].items() if key[0] == "OFFER"})


class Died(Exception):
    """A worker dies in the middle of a slice, after writing all of it and before the commit."""


@pytest.fixture
def interruptions(monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    """Return actions for the end of a slice, by its number; called before its transaction commits."""
    happens: dict[int, Any] = {}
    slices = iter(range(1, 10_000))
    note = rejudging.note_slice

    async def note_slice(tx: Tx, request_id: str, **found: Any) -> None:
        await note(tx, request_id, **found)
        if (interrupt := happens.get(next(slices))) is not None:
            await interrupt(tx)

    monkeypatch.setattr(rejudging, "note_slice", note_slice)
    return happens


async def test_killed_and_continued_it_does_each_slice_once(
    moderation: Moderation, interruptions: dict[int, Any]
) -> None:
    """20,000 texts; a slice fails as a whole, the worker is stopped, and another worker loses its database."""
    count = 20_000
    await seed(moderation, count)
    rejudger = Rejudger(moderation, other_rules())
    stopped = asyncio.Event()

    async def die(_tx: Tx) -> None:
        raise Died

    async def end_session(tx: Tx) -> None:
        await tx.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    async def stop(_tx: Tx) -> None:
        stopped.set()

    interruptions |= {3: die, 6: stop, 9: end_session}
    await rejudger.begin()
    async with rejudger.working() as stop_worker:
        await stopped.wait()
        stop_worker.set()
    half = await rejudger.get()
    assert not half.done
    assert 0 < half.judged < changes_of(count)[0]
    assert sum((await made(moderation, count)).values()) == sum(each.texts for each in half.changes)
    done = await rejudger.ends()
    assert found_of(done) == changes_of(count)
    assert await made(moderation, count) == changes_of(count)[1]
    told = [text.external_id for message in await outcomes(moderation) for text in message.texts]
    assert Counter(told) == Counter(set(told))
    assert len(told) == sum(n for key, n in changes_of(count)[1].items() if key[0] == "OFFER")
    [(events,)] = await moderation.rows("SELECT count(*) FROM outbox WHERE topic = 'moderation.events.v1'")
    assert events == sum(changes_of(count)[1].values())
    [(attempts,)] = await moderation.rows("SELECT claim_no FROM dl_jobs_done WHERE task = %s", TASK)
    assert attempts > 3
    assert moderation.stand_in.requests == []


@pytest.mark.slow
@in_campaigns
@pytest.mark.timeout(1800)
async def test_a_million_stored_decisions(moderation: Moderation) -> None:
    count = 1_000_000
    await seed(moderation, count)
    rejudger = Rejudger(moderation, other_rules())
    for request_id, dry_run in (("dry", True), ("run", False)):
        began_s = time.monotonic()
        await rejudger.begin(request_id, dry_run=dry_run)
        done = await rejudger.ends(request_id, within_s=900)
        print(f"{request_id}: {done.judged:,} texts in {time.monotonic() - began_s:.1f} s")  # noqa: T201
        assert found_of(done) == changes_of(count)
    assert await made(moderation, count) == changes_of(count)[1]
    assert moderation.stand_in.requests == []


async def test_the_same_request_is_the_same_rejudgement(moderation: Moderation) -> None:
    rejudger = Rejudger(moderation, other_rules())
    assert await rejudger.begin(dry_run=True) == await rejudger.begin(dry_run=True)
    assert await moderation.rows("SELECT count(*) FROM dl_jobs WHERE task = %s", TASK) == [(1,)]
    for other in ({"dry_run": False}, {"dry_run": True, "kind": SUBJECT_KIND_OFFER}):
        with pytest.raises(InvalidArgument, match="belongs to a Rejudge with another kind or dry_run"):
            await rejudger.begin(**other)
    with pytest.raises(NotFound):
        await rejudger.get("unknown")


async def test_an_offer_that_was_allowed_is_refused_and_told(moderation: Moderation) -> None:
    moderation.rules = rules_with("old", **{INSULT: [{"allowed": True}]})
    await moderation.apply(await send(moderation, "A lamp"), INSULT)
    await slice_of(moderation, default_rules())
    first, second = [message.texts[0] for message in await outcomes(moderation)]
    assert (first.status, second.status) == (MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED)
    assert (second.text_hash, second.decision_id > first.decision_id) == (first.text_hash, True)
    assert (second.ban.rule, second.ban.rule_set) == (INSULT, "default")
    decisions = await moderation.rows(
        "SELECT status, rule, rule_set, maker, supersedes_id, is_automatic, waited_s IS NULL FROM decisions"
        " ORDER BY decision_id DESC LIMIT 1"
    )
    assert decisions == [("DISAPPROVED", INSULT, "default", "RULE", first.decision_id, True, True)]
    await slice_of(moderation, moderation.rules)  # and back again
    assert [message.texts[0].status for message in await outcomes(moderation)][2:] == [MODERATION_STATUS_APPROVED]


async def test_a_point_gets_status_and_tags_and_a_new_version(moderation: Moderation) -> None:
    moderation.rules = rules_with("old", **{INSULT: [{"allowed": True}]})
    refused, tagged = await moderation.create_point(), await moderation.create_point()
    await moderation.apply(refused, INSULT)
    await moderation.apply(tagged, "police")
    versions = dict(await moderation.rows("SELECT point_id, version FROM points"))
    before = DECISIONS.labels("point", "disapproved")._value.get()
    police = {"police": [{"allowed": True, "tags": {"add": ["camera"], "remove": ["speed_control"]}}]}
    await slice_of(moderation, rules_with(**police))
    rows = await moderation.rows("SELECT point_id, tags, version FROM points")
    found = {point_id: (tags, version > versions[point_id]) for point_id, tags, version in rows}
    assert found == {refused: (["other"], True), tagged: (["camera", "police"], True)}
    assert (await moderation.subject(refused)).status is Status.DISAPPROVED
    assert (await moderation.subject(tagged)).status is Status.APPROVED
    assert DECISIONS.labels("point", "disapproved")._value.get() - before == 1
    values = await moderation.rows(
        "SELECT value FROM outbox WHERE topic = 'moderation.events.v1' ORDER BY id DESC LIMIT 2"
    )
    events = {event.value.key: event.value for event in (ModerationEvent.FromString(value) for (value,) in values)}
    assert list(events[str(tagged)].tags_before.names) == ["police", "speed_control"]
    assert list(events[str(tagged)].tags_after.names) == ["camera", "police"]
    assert list(events[str(refused)].tags_after.names) == ["other"]


async def test_a_refused_point_stays_removed_whatever_the_rules_say(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, INSULT)
    await slice_of(moderation, rules_with(**{INSULT: [{"allowed": True}]}))
    assert (await moderation.subject(point_id)).status is Status.DISAPPROVED


async def test_what_a_reviewer_decided_stays(moderation: Moderation) -> None:
    decided = await refuse_on_appeal(moderation, "ann")
    await slice_of(moderation, rules_with(text_toloka_obscene=[{"allowed": True}]))
    subject = await moderation.subject(decided.key)
    assert (subject.status, subject.decision_id) == (Status.DISAPPROVED, decided.decision_id)


async def test_a_shadow_rule_counts_and_changes_nothing(moderation: Moderation) -> None:
    """Neither for new verdicts nor for stored ones."""
    shadow = rules_with(police=[{"allowed": False, "shadow": True}, {"allowed": True}])
    moderation.rules = shadow
    before = SHADOWED.labels("point")._value.get()
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "police")
    subject = await moderation.subject(point_id)
    assert subject.status is Status.APPROVED
    assert SHADOWED.labels("point")._value.get() - before == 1
    decisions = await moderation.rows("TABLE decisions")
    await slice_of(moderation, shadow)
    assert await moderation.rows("TABLE decisions") == decisions


async def test_a_vote_meanwhile_is_not_lost(moderation: Moderation) -> None:
    moderation.rules = rules_with("old", **{INSULT: [{"allowed": True}]})
    point_id = await moderation.create_point()
    await moderation.apply(point_id, INSULT)
    async with moderation.database.transaction() as tx:
        await tx.execute("UPDATE points SET votes_for = 5, version = version + 1 WHERE point_id = %s", [point_id])
        judging = asyncio.create_task(slice_of(moderation, default_rules()))
        assert await comes_to_wait(judging, moderation.database, behind=tx)
    await judging
    assert await moderation.rows("SELECT votes_for, tags FROM points") == [(5, ["other"])]
    assert (await moderation.subject(point_id)).status is Status.DISAPPROVED


async def test_a_vote_that_read_the_point_before_is_made_again(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "police")
    police = {"police": [{"allowed": True, "tags": {"add": ["camera"]}}]}
    async with moderation.database.transaction() as tx:
        await subjects.lock_subjects(tx, [str(point_id)])
        voting = asyncio.create_task(vote_point(moderation.database, point_id=point_id, author_id="a", is_for=True))
        assert await comes_to_wait(voting, moderation.database, behind=tx)
        await rejudging.add_rejudgement(tx, "r", None, is_dry_run=False)
        await rejudge_slice(
            tx,
            moderation.deciding_by(rules_with(**police)),
            request_id="r",
            kind=None,
            is_dry_run=False,
            after="",
        )
    await voting
    assert await moderation.rows("SELECT votes_for, tags FROM points") == [(1, ["camera", "police", "speed_control"])]


@pytest.mark.parametrize("is_forbidden", [True, False])
async def test_a_verdict_meanwhile_is_not_lost(moderation: Moderation, *, is_forbidden: bool) -> None:
    """The slice has read its texts, and waits for one that is getting verdicts now."""
    moderation.rules = rules_with("old", **{INSULT: [{"allowed": True}]})
    point_id = await moderation.create_point()
    await moderation.apply(point_id, INSULT)
    async with moderation.database.transaction() as tx:
        await subjects.lock_subjects(tx, [str(point_id)])
        judging = asyncio.create_task(slice_of(moderation, default_rules()))
        assert await comes_to_wait(judging, moderation.database, behind=tx)
        await _apply(moderation, tx, str(point_id), "text_auto_obscene" if is_forbidden else "request")
    await judging
    subject = await moderation.subject(point_id)
    expected = (Status.DISAPPROVED, "text_auto_obscene") if is_forbidden else (Status.APPROVED, "request")
    assert (subject.status, subject.verdicts[0].name) == expected
    assert await moderation.rows("SELECT count(*) FROM decisions") == [(2,)]


async def test_a_recheck_meanwhile_is_not_lost(moderation: Moderation) -> None:
    """A forbidden verdict under the bare key requests the text again; the rejudgement must not change that."""
    moderation.rules = rules_with("old", **{INSULT: [{"allowed": True}]})
    await moderation.apply(await send(moderation, "A lamp"), INSULT)
    async with moderation.database.transaction() as tx:
        await subjects.lock_subjects(tx, [KEY])
        judging = asyncio.create_task(slice_of(moderation, default_rules()))
        assert await comes_to_wait(judging, moderation.database, behind=tx)
        await _apply(moderation, tx, KEY, "text_auto_obscene")
    await judging
    subject = await moderation.subject(KEY)
    assert (subject.status, subject.next_retry is not None) == (Status.PENDING, True)


async def _apply(moderation: Moderation, tx: Tx, key: str, name: str) -> None:
    await apply_verdicts(tx, [Arrived(key, VerdictList((Verdict(name),), has_end=True))], moderation.deciding)
