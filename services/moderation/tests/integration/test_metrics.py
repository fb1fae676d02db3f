"""Each metric of moderation changes as documented; the last test fails for a metric that no test here names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from prometheus_client import REGISTRY

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import PUSH_OUTCOME_INVALID, PUSH_OUTCOME_RETRY, PushResult
from classifeed_devkit.testing.recovery import until
from classifeed_domain.publishing import PushedDocuments
from classifeed_moderation.app.decisions.apply_verdicts import Arrived, apply_verdicts
from classifeed_moderation.clients.connections import Connections
from classifeed_moderation.domain.points import AuthorRole
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.domain.verdicts import Verdict, VerdictList
from classifeed_moderation.metrics import METRICS
from classifeed_moderation.store.subjects import NewSubject

from ..conftest import CLEAN, END, PEOPLE, MakeModeration, Moderation, result, verdict
from .decisions.test_appeals import refuse_on_appeal
from .decisions.test_events import comment
from .decisions.test_rejudging import slice_of
from .decisions.test_verdicts import send
from .points.conftest import FakeReceiver, published
from .points.test_publishing import is_idle
from .rejudger import rules_with

BAD = "text_auto_obscene"
PREFIX = "classifeed_moderation_"


def value(name: str, **labels: str) -> float:
    """Return a sample as it is scraped."""
    return REGISTRY.get_sample_value(PREFIX + name, labels) or 0.0


def growth(name: str, **labels: str) -> Callable[[], float]:
    """Return a function that returns by how much a sample has grown since."""
    before = value(name, **labels)
    return lambda: value(name, **labels) - before


async def test_waiting_texts_and_the_oldest(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await comment(moderation, point_id)
    await send(moderation, "lamp")
    await moderation.advance(500.0)
    await moderation.create_point("another")
    await moderation.corrector.measure()
    waiting = {kind: value("waiting_texts", kind=kind) for kind in ("point", "comment", "offer")}
    assert waiting == {"point": 2, "comment": 1, "offer": 1}
    assert value("oldest_waiting_seconds", kind="point") == pytest.approx(500, abs=60)
    await moderation.apply(point_id)
    await moderation.corrector.measure()
    assert value("waiting_texts", kind="point") == 1
    assert value("oldest_waiting_seconds", kind="point") < 60
    await moderation.rows("DELETE FROM subjects RETURNING 1")
    await moderation.corrector.measure()
    assert (value("waiting_texts", kind="point"), value("oldest_waiting_seconds", kind="point")) == (0, 0)


async def test_decisions_of_every_way_are_counted(moderation: Moderation) -> None:
    moderation.rules = rules_with("old", text_auto_insult=[{"allowed": True}])
    grown = {
        (kind, status): growth("decisions_total", kind=kind, status=status)
        for kind in ("point", "comment", "offer")
        for status in ("approved", "disapproved")
    }
    await moderation.create_point("")  # exempt
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "text_auto_insult")
    await slice_of(moderation, rules_with("new"))  # a rejudgement refuses it
    await moderation.apply(await comment(moderation, point_id), BAD)
    await moderation.apply(await send(moderation, "lamp"))
    await refuse_on_appeal(moderation, "ann")  # refused twice
    await moderation.apply(point_id, BAD)  # recorded, not applied
    found = {key: grew() for key, grew in grown.items()}
    assert found == {
        ("point", "approved"): 2, ("point", "disapproved"): 3, ("comment", "approved"): 0,
        ("comment", "disapproved"): 1, ("offer", "approved"): 1, ("offer", "disapproved"): 0,
    }  # fmt: skip


async def test_shown_points_by_author_each_once(moderation: Moderation) -> None:
    grown = {
        author: growth("shown_points_total", author=author) for author in ("user", "partner", "moderator", "expert")
    }
    for role in (AuthorRole.PARTNER, AuthorRole.MODERATOR, AuthorRole.EXPERT):
        await moderation.create_point("closed", role=role)
    shown, refused = await moderation.create_point("one"), await moderation.create_point("two")
    assert grown["user"]() == 0
    await moderation.apply(shown, "police")
    await moderation.apply(shown, "request")  # the point is shown already
    await moderation.apply(refused, BAD)
    await moderation.apply(await comment(moderation, shown))
    assert {author: grew() for author, grew in grown.items()} == dict.fromkeys(grown, 1)


class Refusing(FakeReceiver):
    """Accepts nothing until `is_open`: INVALID for the first document, RETRY for the later ones."""

    is_open = False
    pushes = 0

    async def push(
        self, documents: Sequence[RawDocument], known: Mapping[int, int], traces: Mapping[int, str]
    ) -> PushedDocuments:
        if self.is_open:
            return await super().push(documents, known, traces)
        self.pushes += 1
        outcome = PUSH_OUTCOME_INVALID if self.pushes == 1 else PUSH_OUTCOME_RETRY
        return PushedDocuments([PushResult(outcome=outcome) for _ in documents], {})


async def test_pushed_documents_by_outcome(moderation: Moderation) -> None:
    receiver = Refusing()
    grown = {name: growth("pushed_documents_total", outcome=name) for name in ("ack", "stale", "invalid", "retry")}
    await moderation.create_point("closed", role=AuthorRole.EXPERT)
    async with published(moderation, receiver) as publication:
        await until(lambda: grown["invalid"]() == 1)
        await moderation.create_point("closed too", role=AuthorRole.EXPERT)
        publication.wake()
        await until(lambda: grown["retry"]() >= 1)
        receiver.is_open = True
        await until(lambda: grown["ack"]() >= 1)
        await until(lambda: is_idle(publication))
        await moderation.rows("UPDATE points SET version = 7, published_version = 0 RETURNING 1")
        publication.wake()
        await until(lambda: grown["stale"]() >= 1)


async def test_republications_by_the_side_that_lost(moderation: Moderation) -> None:
    receiver = FakeReceiver()
    lost = growth("republications_total", loss="receiver")
    await moderation.create_point("closed", role=AuthorRole.EXPERT)
    async with published(moderation, receiver) as publication:
        await until(lambda: is_idle(publication))
        receiver.documents, receiver.end = {}, 0
        await moderation.create_point("closed too", role=AuthorRole.EXPERT)
        publication.wake()
        await until(lambda: len(receiver.shown()) == 2)
    assert lost() == 1


@pytest.mark.parametrize("outcome", ["verdicts", "people", "unreachable", "fault"])
async def test_requests_by_outcome(moderation: Moderation, outcome: str) -> None:
    names = ("verdicts", "people", "unreachable", "fault")
    grown = {name: growth("requests_total", outcome=name) for name in names}
    moderation.stand_in.content = PEOPLE if outcome == "people" else CLEAN
    moderation.stand_in.status = 500 if outcome == "fault" else 200
    if outcome == "unreachable":
        moderation.service._connections = Connections("http://127.0.0.1:1/v2/", limit_bytes=1000)
    moderation.start()
    await moderation.create_point()
    await until(lambda: not moderation.queue._known)
    assert {name: grew() for name, grew in grown.items()} == {name: name == outcome for name in names}


async def test_saved_requests(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(kept_s=3600.0)
    saved = growth("saved_requests_total")
    await moderation.apply(await moderation.create_point("the same"))
    for _ in range(3):
        await moderation.create_point("the same")
    await moderation.advance(100.0)
    await moderation.corrector.round(Kind.POINT)
    assert saved() == 3


async def test_queued_and_dropped_texts(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(queue_size=2)
    dropped = growth("dropped_texts_total", kind="point")
    for number in range(5):
        await moderation.create_point(f"text {number}")
    assert (value("queued_texts", kind="point"), dropped()) == (2, 3)
    moderation.start()
    await until(lambda: not moderation.queue._known)
    assert value("queued_texts", kind="point") == 0


async def test_time_to_verdict_falls_into_its_bucket(moderation: Moderation) -> None:
    """p50 and p99 are computed from the buckets."""
    counted = growth("wait_seconds_count", kind="point")
    within = {
        bound: growth("wait_seconds_bucket", kind="point", le=bound) for bound in ("10.0", "60.0", "600.0", "+Inf")
    }
    slow = await moderation.create_point("slow")
    await moderation.advance(480.0)
    quick = await moderation.create_point("quick")
    for key in (slow, quick):
        await moderation.apply(key)
        await moderation.apply(key, "police")  # a later decision has no wait
    assert counted() == 2
    assert within["+Inf"]() == within["600.0"]() == 2
    assert within["60.0"]() == 1


async def test_verdicts_by_name_of_the_rules_file(moderation: Moderation) -> None:
    names = ("police", BAD, "other", "text_auto_novelty", "text_auto_contacts")
    grown = {name: growth("verdicts_total", verdict=name) for name in names}
    unknown = growth("unknown_verdicts_total")
    await moderation.apply(await moderation.create_point("one"), "police", BAD)
    await moderation.apply(await moderation.create_point("two"), "text_auto_novelty")
    await moderation.apply(await send(moderation, "old"), "text_auto_contacts", has_end=True)
    assert {name: grew() for name, grew in grown.items()} == {
        "police": 1, BAD: 1, "other": 1, "text_auto_novelty": 0, "text_auto_contacts": 1,
    }  # fmt: skip
    assert unknown() == 1


async def test_abnormal_answers_and_ignored_verdicts(moderation: Moderation) -> None:
    abnormal, ignored = growth("abnormal_responses_total"), growth("ignored_verdicts_total")
    moderation.stand_in.content = result(verdict("police"), verdict(BAD, entity="picture"))
    moderation.start()
    await moderation.create_point()
    await until(lambda: not moderation.queue._known)
    assert (abnormal(), ignored()) == (1, 1)
    moderation.stand_in.content = result(verdict("police"), END)
    await moderation.create_point("another")
    await until(lambda: not moderation.queue._known)
    assert (abnormal(), ignored()) == (1, 1)


async def test_shadow_decisions(moderation: Moderation) -> None:
    shadowed = growth("shadow_decisions_total", kind="offer")
    moderation.rules = rules_with(police=[{"allowed": False, "shadow": True}, {"allowed": True}])
    await moderation.apply(await send(moderation, "lamp"), "police")
    assert shadowed() == 1


async def test_breaker(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(breaker_failures=2, workers=1)
    moderation.stand_in.status = 500
    moderation.start()
    for number in range(2):
        await moderation.create_point(f"text {number}")
    await until(lambda: value("breaker_open") == 1)
    moderation.stand_in.status = 200
    await moderation.create_point("text")
    await until(lambda: value("breaker_open") == 0)


async def roll_back(moderation: Moderation, arrived: Arrived) -> None:
    """Apply verdicts and store an exempt text, in a transaction that is rolled back."""
    async with moderation.database.transaction() as tx:
        await apply_verdicts(tx, [arrived], moderation.deciding)
        text = NewSubject(str(uuid4()), Kind.COMMENT, "seen", (), Status.APPROVED)
        await moderation.store_texts(tx, [text], exemption="trusted_author")
        raise psycopg.Rollback


async def test_what_is_rolled_back_is_not_counted(moderation: Moderation) -> None:
    grown = [
        growth("decisions_total", kind="point", status="disapproved"),
        growth("verdicts_total", verdict="other"),
        growth("unknown_verdicts_total"),
        growth("abnormal_responses_total"),
        growth("decisions_total", kind="comment", status="approved"),
        growth("wait_seconds_count", kind="point"),
    ]
    point_id = await moderation.create_point()
    await roll_back(moderation, Arrived(str(point_id), VerdictList((Verdict("text_auto_novelty"),))))
    assert [grew() for grew in grown] == [0] * len(grown)


def test_every_metric_is_here() -> None:
    read = set(re.findall(r'(?:value|growth)\(\s*"([a-z_]+)"', Path(__file__).read_text("utf-8")))
    names = [each.name.removeprefix(PREFIX) for each in METRICS.declarations]
    assert [name for name in names if not read & {name, f"{name}_count"}] == []
