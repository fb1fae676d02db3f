"""Figures by hour and day equal an independent count of the log."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from classifeed.moderation.v1.moderation_service_pb2 import (
    FIGURE_INTERVAL_DAY,
    FIGURE_INTERVAL_HOUR,
    FIGURE_INTERVAL_UNSPECIFIED,
    FigureInterval,
    FigureRow,
    GetFiguresRequest,
)
from classifeed.moderation.v1.subject_pb2 import ModerationStatus, SubjectKind
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.rpc.moderation_service.events import EventMethods
from classifeed_moderation.store.subjects import count_waiting

from ...conftest import NO_CONTEXT, Moderation
from ..rejudger import rules_with
from .test_appeals import refuse_on_appeal
from .test_events import call_back
from .test_rejudging import slice_of
from .test_verdicts import send

INSULT = "text_auto_insult"


@dataclass(frozen=True)
class Logged:
    """A decision as the test reads it, row by row."""

    kind: str
    status: str
    tags: Sequence[str]
    region_ids: Sequence[int]
    verdicts: Sequence[str]
    is_automatic: bool
    waited_s: float | None
    recorded_at: datetime


async def log_of(moderation: Moderation) -> list[Logged]:
    rows = await moderation.rows(
        "SELECT kind, status, coalesce(tags_after, '{}'), region_ids, verdicts, is_automatic, waited_s, recorded_at"
        " FROM decisions WHERE is_applied"
    )
    return [
        Logged(kind, status, tags, regions, [item["name"] for item in verdicts], *rest)
        for kind, status, tags, regions, verdicts, *rest in rows
    ]


def hour(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def day(time: datetime) -> datetime:
    return hour(time).replace(hour=0)


def share_of(waits: Sequence[float], share: float) -> float:
    """Return the smallest value that is not exceeded by `share` of the values."""
    return sorted(waits)[math.ceil(share * len(waits)) - 1] if waits else 0.0


def count(
    log: Sequence[Logged], begin_of: Callable[[datetime], datetime], since: datetime
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Return decisions, automatic ones, p50 and p99 by interval, kind, status, dimension and value."""
    groups: defaultdict[tuple[Any, ...], list[Logged]] = defaultdict(list)
    for each in log:
        if each.recorded_at < since:
            continue
        values = [("total", "")] + [("tag", tag) for tag in each.tags] + [("verdict", name) for name in each.verdicts]
        values += [("region", str(each.region_ids[-1]))] if each.region_ids else []
        for value in values:
            groups[(int(begin_of(each.recorded_at).timestamp()), each.kind, each.status, *value)].append(each)
    counted = {}
    for key, found in groups.items():
        waits = [each.waited_s for each in found if each.waited_s is not None]
        automatic = sum(each.is_automatic for each in found)
        counted[key] = (len(found), automatic, share_of(waits, 0.5), share_of(waits, 0.99))
    return counted


async def figures(
    moderation: Moderation, interval: FigureInterval, intervals: int = 0
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    request = GetFiguresRequest(interval=interval, intervals=intervals)
    found = await EventMethods(moderation.database).GetFigures(request, NO_CONTEXT)
    return {_key(row): (row.decisions, row.automatic, row.wait_p50_s, row.wait_p99_s) for row in found.rows}


def _key(row: FigureRow) -> tuple[Any, ...]:
    kind = SubjectKind.Name(row.kind).removeprefix("SUBJECT_KIND_")
    status = ModerationStatus.Name(row.status).removeprefix("MODERATION_STATUS_")
    return row.begin_s, kind, status, row.dimension, row.value


async def total(moderation: Moderation, place: int) -> int:
    """Return decisions (0) or automatic ones (1) of the last two days, of any kind and status."""
    found = await figures(moderation, FIGURE_INTERVAL_DAY, 2)
    return int(sum(values[place] for key, values in found.items() if key[3] == "total"))


async def seed(moderation: Moderation, chance: random.Random, number: int) -> None:
    """Store decisions of the last 40 days that differ in all counted fields, some of them not applied."""
    names = ["police", "request", "text_auto_obscene", "text_toloka_spam"]
    for _ in range(number):
        is_point = chance.random() < 0.5
        await moderation.rows(
            "INSERT INTO decisions (subject_key, kind, content_version, text_hash, region_ids, status, verdicts, rule,"
            " rule_set, region_id, maker, is_automatic, is_applied, tags_before, tags_after, waited_s, decided_at,"
            " recorded_at) VALUES ('k', %s, 1, '', %s, %s, (SELECT coalesce(jsonb_agg(jsonb_build_object('name', n)),"
            " '[]') FROM unnest(%s::text[]) n), '', '', 0, 'RULE', %s, %s, '{}', %s, %s, now(),"
            " clock_timestamp() - %s * interval '1 second') RETURNING 1",
            "POINT" if is_point else chance.choice(["COMMENT", "OFFER"]),
            chance.choice([[], [225], [2, 225], [213, 1, 17]]),
            chance.choice(["APPROVED", "DISAPPROVED"]),
            chance.sample(names, chance.randint(0, 3)),
            chance.random() < 0.7,
            chance.random() < 0.8,
            chance.sample(["police", "accident", "other"], chance.randint(0, 2)) if is_point else None,
            None if chance.random() < 0.2 else chance.expovariate(0.1),
            chance.choice([0.0, chance.uniform(0, 7200), chance.uniform(0, 40 * 86400)]),
        )


@pytest.mark.parametrize("number", range(2))
async def test_they_equal_a_count_of_the_log(moderation: Moderation, number: int) -> None:
    chance = random.Random(number)
    await seed(moderation, chance, 600)
    log = await log_of(moderation)
    cases = [
        (FIGURE_INTERVAL_HOUR, 1, hour, timedelta(hours=1)),
        (FIGURE_INTERVAL_HOUR, 48, hour, timedelta(hours=1)),
        (FIGURE_INTERVAL_UNSPECIFIED, 0, hour, timedelta(hours=1)),
        (FIGURE_INTERVAL_DAY, 1, day, timedelta(days=1)),
        (FIGURE_INTERVAL_DAY, 31, day, timedelta(days=1)),
    ]
    for interval, intervals, begin_of, length in cases:
        # Counted again if a new hour began between the two counts.
        while True:
            before = datetime.now(UTC)
            found = await figures(moderation, interval, intervals)
            if hour(before) == hour(datetime.now(UTC)):
                break
        expected = count(log, begin_of, begin_of(before) - length * ((intervals or 24) - 1))
        assert {key: values[:2] for key, values in found.items()} == {key: each[:2] for key, each in expected.items()}
        for key, values in found.items():
            assert values[2:] == pytest.approx(expected[key][2:]), key


async def test_the_share_of_automatics_counts_no_decision_of_people(moderation: Moderation) -> None:
    await moderation.create_point("")  # exempt
    for source in ("automatic", "people", "people"):
        point_id = await moderation.create_point()
        await call_back(moderation, str(point_id), "police", source=source)
    assert (await total(moderation, 0), await total(moderation, 1)) == (4, 2)
    await refuse_on_appeal(moderation, "ann")  # a verdict of people, then a reviewer
    assert (await total(moderation, 0), await total(moderation, 1)) == (6, 2)


async def test_only_the_first_decision_about_a_text_has_a_time_to_verdict(moderation: Moderation) -> None:
    """A text that is judged again after a year has not waited for a year."""
    moderation.rules = rules_with("old", **{INSULT: [{"allowed": True}]})
    point_id = await moderation.create_point()
    await moderation.advance(30.0)
    await moderation.apply(point_id, INSULT)
    await moderation.advance(365 * 86400.0)
    await slice_of(moderation, rules_with("new"))
    waits = [wait for (wait,) in await moderation.rows("SELECT waited_s FROM decisions ORDER BY decision_id")]
    assert waits == [pytest.approx(30, abs=20), None]
    found = await figures(moderation, FIGURE_INTERVAL_DAY, 2)
    assert max(values[3] for values in found.values()) < 60


async def test_an_edited_text_waits_from_its_edit_on(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "old"))
    await moderation.advance(365 * 86400.0)
    await moderation.apply(await send(moderation, "new", version=2))
    waits = [wait for (wait,) in await moderation.rows("SELECT waited_s FROM decisions ORDER BY decision_id")]
    assert len(waits) == 2
    assert max(waits) < 60


async def test_a_recheck_waits_from_its_beginning_on(moderation: Moderation) -> None:
    """The age of the oldest waiting text depends on it, and an alert watches that age."""
    key = await send(moderation, "text")
    await moderation.apply(key)
    await moderation.advance(365 * 86400.0)
    await moderation.apply(key.partition("~")[0], "text_auto_obscene")
    async with moderation.database.connection() as connection:
        waiting = await count_waiting(connection)
    assert waiting[Kind.OFFER][1] < 60
