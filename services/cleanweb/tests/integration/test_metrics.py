"""Each metric of cleanweb changes as documented; the last test fails for a metric that no test here names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from classifeed_cleanweb import parts
from classifeed_cleanweb.metrics import METRICS
from classifeed_devkit.testing.recovery import until

from ..conftest import Inbox, Start
from .test_reviews import COMMON, OFFER, claim, review_as

PREFIX = "classifeed_cleanweb_"


@pytest.fixture(autouse=True)
def often_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_MEASURE_S", 0.1)


def value(name: str, **labels: str) -> float:
    """Return a sample as it is scraped."""
    return REGISTRY.get_sample_value(PREFIX + name, labels) or 0.0


def growth(name: str, **labels: str) -> Callable[[], float]:
    """Return a function that returns by how much a sample has grown since."""
    before = value(name, **labels)
    return lambda: value(name, **labels) - before


async def test_texts_by_service_and_by_how_they_were_judged(start: Start) -> None:
    """The dashboard computes the share of automatic verdicts from them."""
    ways = ("automatic", "kept", "passed", "opened", "joined")
    grown = {way: growth("judged_texts_total", by=way) for way in ways}
    ours, others = (growth("requested_texts_total", service=name) for name in ("classifeed", "other"))
    cleanweb = await start()
    await cleanweb.process("Call me: +7 912 345-67-89", key=OFFER)
    for _ in range(2):
        await cleanweb.process("A wooden lamp", key=OFFER)
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    await cleanweb.process("A wooden lamp", key="offer/another~00")
    await cleanweb.process("lamp", body={"text": "lamp", "environment": "stable", "regions": []})
    passing = await start(auto_pass=True)
    await passing.process("A wooden table", key=OFFER)
    assert {way: grew() for way, grew in grown.items()} == dict.fromkeys(ways, 1)
    assert (ours(), others()) == (5, 1)


async def test_reviews_that_wait_their_age_and_who_has_them(start: Start) -> None:
    ended, opinions, cost = (
        growth("reviews_total", project=COMMON),
        growth("opinions_total", project=COMMON),
        growth("opinions_cost_total", project=COMMON),
    )
    cleanweb = await start(review_deadline_s=1800, opinion_cost=0.5)
    for number in range(3):
        await cleanweb.process(f"lamp {number}", key=f"offer/s/n/{number}~00")
    await cleanweb.rows("UPDATE reviews SET opened_at = opened_at - interval '1 hour' RETURNING 1")
    for reviewer in ("anna", "ben"):
        await claim(cleanweb, reviewer)
    await until(lambda: value("waiting_reviews", project=COMMON) == 3)
    await until(lambda: value("active_reviewers", project=COMMON) == 2)
    await until(lambda: 3600 <= value("oldest_review_seconds", project=COMMON) < 7200)
    await until(lambda: value("late_reviews", project=COMMON) == 3)
    assert value("waiting_reviews", project="custom_map_talks_toloka") == 0
    await cleanweb.rows("UPDATE reviews SET leased_until = NULL, leased_by = NULL RETURNING 1")
    for _ in range(3):
        for reviewer in ("cleo", "dan"):
            await review_as(cleanweb, reviewer)
    assert (ended(), opinions(), cost()) == (3, 6, 3)
    await until(lambda: value("waiting_reviews", project=COMMON) == 0)
    await until(lambda: value("oldest_review_seconds", project=COMMON) == 0)
    await until(lambda: value("late_reviews", project=COMMON) == 0)


async def test_callbacks_by_outcome_and_those_that_wait(start: Start, inbox: Inbox) -> None:
    delivered, failed, given_up = (
        growth("callbacks_total", outcome=outcome) for outcome in ("delivered", "failed", "given_up")
    )
    inbox.status = 500
    cleanweb = await start()
    for number in (1, 2):
        await cleanweb.process(f"lamp {number}", key=f"offer/s/n/{number}~00")
        for reviewer in ("anna", "ben"):
            await review_as(cleanweb, reviewer)
    await until(lambda: failed() >= 2)
    await until(lambda: value("waiting_callbacks") == 2)
    assert value("given_up_callbacks") == 0
    [(late,)] = await cleanweb.rows(
        "UPDATE callbacks SET sent_from = sent_from - interval '73 hours',"
        " created_at = created_at - interval '73 hours'"
        " WHERE callback_id = (SELECT min(callback_id) FROM callbacks) RETURNING callback_id"
    )
    await until(lambda: given_up() == 1)
    await until(lambda: value("given_up_callbacks") == 1)
    await until(lambda: value("oldest_callback_seconds") >= 73 * 3600)
    inbox.status = 200
    await until(lambda: delivered() == 1)
    await until(lambda: value("waiting_callbacks") == 1)
    assert await cleanweb.rows("SELECT callback_id FROM callbacks") == [(late,)]


def test_every_metric_is_here() -> None:
    read = set(re.findall(r'(?:value|growth)\(\s*"([a-z_]+)"', Path(__file__).read_text("utf-8")))
    names = [each.name.removeprefix(PREFIX) for each in METRICS.declarations]
    assert [name for name in names if not read & {name, f"{name}_count"}] == []
