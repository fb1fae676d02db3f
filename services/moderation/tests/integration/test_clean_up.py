"""Retention of moderation's records."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.app.points.remove_point import remove_point
from classifeed_moderation.app.points.vote_point import vote_point
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.store.cleaning import _SQL

from ..conftest import Moderation
from .decisions.test_verdicts import KEY, send

ALL = (
    "delete_offer_texts",
    "delete_points",
    "delete_decisions",
    "delete_appeals",
    "delete_rejudgements",
    "delete_kept",
    "delete_closings",
)


async def clean(moderation: Moderation, age: timedelta) -> dict[str, int]:
    before = datetime.now(UTC) - age
    async with moderation.database.transaction() as tx:
        return {name: (await tx.execute(_SQL[name], {"before": before, "limit": 1000})).rowcount for name in ALL}


async def fill(moderation: Moderation) -> None:
    """Store one record of everything, including a removed point and a live one."""
    removed, living = await moderation.create_point("one"), await moderation.create_point("two")
    for point_id in (removed, living):
        await moderation.apply(point_id, "police")
        await moderation.apply(point_id, "request")
        await vote_point(moderation.database, point_id=point_id, author_id="a", is_for=True)
        await comment_point(
            moderation.database,
            moderation.store_texts,
            point_id=point_id,
            author=Author("a", AuthorRole.USER),
            text="hm",
            request_id="1",
        )
    await remove_point(moderation.database, moderation.clock, point_id=removed)
    await moderation.apply(await send(moderation, "text"))
    await moderation.rows("UPDATE points SET published_version = version RETURNING 1")
    await moderation.rows(
        "INSERT INTO appeals (subject_key, decision_id, author_id, reason, ended_at)"
        " VALUES ('a', 1, 'a', 'a', now()), ('a', 2, 'a', 'a', NULL) RETURNING 1"
    )
    await moderation.rows("INSERT INTO closings (sent_key, cache_key) VALUES ('a', '') RETURNING 1")
    await moderation.rows("INSERT INTO rejudgements (request_id, is_dry_run) VALUES ('a', true) RETURNING 1")


async def test_nothing_young_is_removed(moderation: Moderation) -> None:
    await fill(moderation)
    assert set((await clean(moderation, timedelta(hours=1))).values()) == {0}


async def test_what_is_old_goes_and_what_counts_stays(moderation: Moderation) -> None:
    await fill(moderation)
    await clean(moderation, timedelta(seconds=-60))
    kinds = await moderation.rows("SELECT kind, count(*) FROM subjects GROUP BY kind ORDER BY kind")
    assert kinds == [("COMMENT", 1), ("POINT", 1)]
    for table in ("points", "comments", "votes", "appeals"):
        assert await moderation.rows(f"SELECT count(*) FROM {table}") == [(1,)]
    assert await moderation.rows("SELECT verdicts -> 0 ->> 'name' FROM decisions") == [("request",)]
    for table in ("verdict_cache", "closings"):
        assert await moderation.rows(f"SELECT count(*) FROM {table}") == [(0,)]


async def test_what_somebody_holds_is_not_waited_for_and_stays(moderation: Moderation) -> None:
    """Waiting while holding other locks could deadlock, and a text that changed meanwhile would be removed."""
    await moderation.apply(await send(moderation, "text"))
    async with moderation.database.transaction() as tx:
        await tx.execute("UPDATE subjects SET status = 'PENDING', next_retry = clock_timestamp()")
        await tx.execute("UPDATE verdict_cache SET stored_at = clock_timestamp()")
        cleaning = asyncio.create_task(clean(moderation, timedelta(seconds=-60)))
        assert not await comes_to_wait(cleaning, moderation.database, behind=tx)
    removed = await cleaning
    assert (removed["delete_offer_texts"], removed["delete_kept"]) == (0, 0)
    assert (await moderation.subject(KEY)).status is Status.PENDING
