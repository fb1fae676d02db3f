"""The log of loads: each has one line for its start and one for its end, with any events between."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM
from classifeed.feeds.v1.offer_results_pb2 import OfferCounts
from classifeed_common.errors import Unavailable
from classifeed_jobs import JobStore
from classifeed_processor.app.tasks.cancel_task import cancel_task
from classifeed_processor.app.tasks.decide_task import decide_task
from classifeed_processor.app.tasks.finish_task import finish_task
from classifeed_processor.app.tasks.report_load import report_offers
from classifeed_processor.metrics import OFFERS

from ..inline import BROKEN, GOOD, Runner

Lines = list[MutableMapping[str, Any]]
_ENDS = ("succeeded", "failed", "canceled")


@pytest.fixture
def lines() -> Iterator[Lines]:
    with capture_logs() as lines:
        yield lines


def stages_of(lines: Lines, key: Any) -> list[str]:
    """Return the events of a load as texts, in their order."""
    names = {"seller": key.seller_id, "namespace": key.namespace, "task": key.task_id}
    return [
        line["event"].removeprefix("feeds.load.") + (f" {line['status']}" if "status" in line else "")
        for line in lines
        if line["event"].startswith("feeds.load.") and names.items() <= line.items()
    ]


def last(lines: Lines, event: str) -> dict[str, Any]:
    return next(dict(line) for line in reversed(lines) if line["event"] == f"feeds.load.{event}")


async def test_a_good_load_tells_what_it_is_and_what_became_of_it(runner: Runner, lines: Lines) -> None:
    key = await runner.upload("u1")
    await runner.run(key)
    await runner.run(key)  # its job, again
    assert stages_of(lines, key) == ["started", "ended succeeded"]
    started, ended = last(lines, "started"), last(lines, "ended")
    assert started["log_level"] == ended["log_level"] == "info"
    named = {name: started[name] for name in ("kind", "source", "bytes", "format")}
    assert named == {"kind": "load", "source": "upload", "bytes": 0, "format": "any"}
    counts = {
        "total": 2, "added": 2, "updated": 0, "unchanged": 0, "removed": 0, "rejected": 0, "skipped": 0,
        "duplicates": 0, "errors": 0, "warnings": 0,
    }  # fmt: skip
    assert {name: ended[name] for name in counts} == counts
    assert (ended["code"], ended["format"], ended["source"]) == ("", "yml", "upload")
    assert 0 <= ended["duration_s"] < 600
    assert started["waited_s"] == ended["waited_s"] >= 0


async def test_each_source_and_kind_has_its_name(runner: Runner, lines: Lines) -> None:
    await runner.run(await runner.fetch(1, 1))
    assert last(lines, "started")["source"] == "fetch"
    await runner.run(await runner.remove(2))
    assert (last(lines, "ended")["kind"], last(lines, "ended")["source"]) == ("delete", "removal")


async def test_a_load_that_fails_says_its_code(runner: Runner, lines: Lines) -> None:
    key = await runner.upload("u1", source_sha256=BROKEN)
    await runner.run(key)
    assert stages_of(lines, key) == ["started", "ended failed"]
    assert last(lines, "ended")["code"] == "MALFORMED_XML"


async def test_a_load_whose_process_died_goes_on_in_a_line_of_its_own(runner: Runner, lines: Lines) -> None:
    key = await runner.upload("u1")
    runner.owner.loses_batches = True
    for _ in range(2):
        with pytest.raises(Unavailable):
            await runner.run(key)
    runner.owner.loses_batches = False
    await runner.run(key)
    assert stages_of(lines, key) == ["started", "resumed", "resumed", "ended succeeded"]


async def test_a_held_load_ends_once_it_is_decided_about_or_replaced(runner: Runner, lines: Lines) -> None:
    runner.owner.removals = 30
    first, second = await runner.upload("u1"), await runner.upload("u2")
    await runner.run(first)
    assert stages_of(lines, first) == ["started", "held"]
    assert last(lines, "held")["removals"] == 30
    await runner.run(second)
    assert stages_of(lines, first) == ["started", "held", "ended superseded"]
    await decide_task(runner.db, JobStore(), second, HOLD_DECISION_CONFIRM, timeout_s=60)
    assert last(lines, "decided")["decision"] == "confirmed"
    await runner.run(second)
    assert stages_of(lines, second) == ["started", "held", "ended succeeded"]
    assert last(lines, "ended")["removed"] == 30


async def test_a_load_that_never_began_has_its_end_alone(runner: Runner, lines: Lines) -> None:
    await runner.run(await runner.fetch(2, 2))
    outdated = await runner.fetch(1, 1)
    await runner.run(outdated)
    assert stages_of(lines, outdated) == ["ended superseded"]
    canceled = await runner.upload("u1")
    await cancel_task(runner.db, canceled, timeout_s=60)
    assert stages_of(lines, canceled) == ["ended canceled"]
    assert last(lines, "ended")["code"] == "LOAD_CANCELED"
    assert last(lines, "ended")["duration_s"] is None
    await cancel_task(runner.db, canceled, timeout_s=60)
    assert stages_of(lines, canceled) == ["ended canceled"]


async def test_an_end_that_did_not_commit_or_comes_too_late_is_not_told(runner: Runner, lines: Lines) -> None:
    key = await runner.upload("u1", source_sha256=GOOD)

    async def finish_and_fail() -> None:
        async with runner.db.transaction() as tx:
            await finish_task(tx, JobStore(), key, task_pb2.TASK_STATUS_SUCCEEDED)
            raise LookupError

    with pytest.raises(LookupError):
        await finish_and_fail()
    assert stages_of(lines, key) == []
    await runner.run(key)
    async with runner.db.transaction() as tx:
        await finish_task(tx, JobStore(), key, task_pb2.TASK_STATUS_FAILED)
    assert stages_of(lines, key) == ["started", "ended succeeded"]


async def test_replies_name_what_they_say(runner: Runner, lines: Lines) -> None:
    await runner.run(await runner.upload("u1"))
    assert last(lines, "answered")["outcome"] == "completed"


async def test_loads_and_their_offers_are_counted_each_once(runner: Runner) -> None:
    def value(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(f"classifeed_{name}", labels) or 0.0

    def counts() -> list[float]:
        return [
            *(value("loads_total", kind="load", status=status) for status in _ENDS),
            value("loads_total", kind="delete", status="succeeded"),
            *(value("load_duration_seconds_count", kind="load", status=status) for status in _ENDS),
            *(value("offers_total", outcome=outcome) for outcome in ("added", "removed")),
        ]

    before = counts()
    good = await runner.upload("u1")
    await runner.run(good)
    await runner.run(good)
    await runner.run(await runner.upload("u2", source_sha256=BROKEN))
    await cancel_task(runner.db, await runner.upload("u3"), timeout_s=60)
    runner.owner.removals = 30
    await runner.run(await runner.remove(2))
    grown = [now - then for now, then in zip(counts(), before, strict=True)]
    # A task that was canceled before it began has no duration.
    assert grown == [1, 1, 1, 1, 1, 1, 0, 2, 30]


async def test_offers_of_a_reply_that_did_not_commit_are_not_counted(runner: Runner) -> None:
    async def report_and_fail() -> None:
        async with runner.db.transaction() as tx:
            report_offers(tx, OfferCounts(added=5))
            raise LookupError

    added = OFFERS.labels("added")._value
    before = added.get()
    with pytest.raises(LookupError):
        await report_and_fail()
    assert added.get() == before
