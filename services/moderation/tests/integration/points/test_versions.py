"""Votes and verdicts about one point never overwrite one another."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from classifeed_common.errors import Aborted, NotFound
from classifeed_moderation.app.points.change_point import change_point
from classifeed_moderation.app.points.remove_point import remove_point
from classifeed_moderation.app.points.vote_point import vote_point
from classifeed_moderation.domain.points import Point
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.store import decisions, points

from ...conftest import Moderation


async def race(moderation: Moderation, point_id: UUID) -> bool:
    """Read a point, apply a verdict, and write the read point with one more vote; return whether it was written."""
    async with moderation.database.transaction() as tx:
        read = await points.find_point(tx, point_id)
    assert read is not None
    await moderation.apply(point_id, "request", "police")
    async with moderation.database.transaction() as tx:
        return await points.write_point(tx, replace(read, votes_for=read.votes_for + 1))


async def test_vote_that_read_before_a_verdict_is_not_written(moderation: Moderation) -> None:
    point_id = await moderation.create_point(tags=("other",))
    assert await race(moderation, point_id) is False
    assert await moderation.rows("SELECT tags, votes_for FROM points") == [(["police", "speed_control"], 0)]


async def test_without_a_new_version_the_verdict_is_lost(
    moderation: Moderation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The naive implementation, to prove that the test above can fail."""
    naive = decisions._SQL["record"].replace(
        ",\n        version = greatest(p.version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)", ""
    )
    assert naive != decisions._SQL["record"]
    monkeypatch.setitem(decisions._SQL._statements, "record", naive)
    point_id = await moderation.create_point(tags=("other",))
    assert await race(moderation, point_id) is True
    assert await moderation.rows("SELECT tags FROM points") == [(["other"],)]


async def test_vote_tries_again_after_a_verdict(moderation: Moderation) -> None:
    point_id = await moderation.create_point(tags=("other",))
    is_first = True

    async def change(tx: object, point: Point) -> Point:
        nonlocal is_first
        if is_first:
            is_first = False
            await moderation.apply(point_id, "police")
        return replace(point, votes_for=point.votes_for + 1)

    changed = await change_point(moderation.database, point_id, change)
    assert (changed.tags, changed.votes_for) == (("police", "speed_control"), 1)


async def test_vote_gives_up_when_others_are_always_faster(moderation: Moderation) -> None:
    point_id = await moderation.create_point()

    async def change(_tx: object, point: Point) -> Point:
        await moderation.rows("UPDATE points SET version = version + 1 RETURNING 1")
        return point

    with pytest.raises(Aborted, match="POINT_CHANGED"):
        await change_point(moderation.database, point_id, change)


async def test_many_voters_and_verdicts(moderation: Moderation) -> None:
    """Every accepted vote is counted, and all verdicts apply, in any order."""
    point_id = await moderation.create_point(tags=("other",))
    await moderation.apply(point_id)

    async def vote(number: int) -> bool:
        try:
            await vote_point(
                moderation.database, point_id=point_id, author_id=f"author {number}", is_for=number % 3 > 0
            )
        except Aborted:
            return False
        return True

    taken, *_ = await asyncio.gather(
        asyncio.gather(*map(vote, range(30))),
        moderation.apply(point_id, "police"),
        moderation.apply(point_id, "police", "request"),
    )
    [(votes_for, votes_against, tags)] = await moderation.rows("SELECT votes_for, votes_against, tags FROM points")
    assert votes_for == sum(ok for number, ok in enumerate(taken) if number % 3 > 0)
    assert votes_against == sum(ok for number, ok in enumerate(taken) if number % 3 == 0)
    assert tags == ["police", "speed_control"]
    assert await moderation.rows("SELECT count(*) FROM votes") == [(sum(taken),)]


async def test_an_author_has_one_vote(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    for is_for in (True, True, False):
        point = await vote_point(moderation.database, point_id=point_id, author_id="a", is_for=is_for)
    assert (point.votes_for, point.votes_against) == (0, 1)


async def test_a_refused_point_takes_no_votes(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "text_auto_obscene")
    with pytest.raises(NotFound):
        await vote_point(moderation.database, point_id=point_id, author_id="a", is_for=True)


async def test_a_removed_point_keeps_its_text_for_audit(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    assert await remove_point(moderation.database, moderation.clock, point_id=point_id) is True
    assert await remove_point(moderation.database, moderation.clock, point_id=point_id) is False
    assert (await moderation.subject(point_id)).status is Status.PENDING
