"""Transactions that record verdicts lock in one order, and skip rows that they need not wait for: no deadlock."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.decisions.record_verdicts import Recordable, WithPeople
from classifeed_moderation.domain.subjects import Kind, Status, Task, cache_key
from classifeed_moderation.domain.verdicts import VerdictList

from ...conftest import PENDING_S, RETRY_S, Moderation

REGIONS = (1, 2, 100)
_LOCK_TEXT = "SELECT FROM subjects WHERE subject_key = %s FOR NO KEY UPDATE NOWAIT"
_LOCK_KEPT = "SELECT FROM verdict_cache WHERE cache_key = %s FOR NO KEY UPDATE NOWAIT"


async def create_points(moderation: Moderation, *texts: str) -> list[str]:
    """Store points; return their keys in the order of locking."""
    for text in texts:
        await moderation.create_point(text, regions=REGIONS)
    return [key for (key,) in await moderation.rows("SELECT subject_key FROM subjects ORDER BY subject_key")]


async def task_of(moderation: Moderation, key: str) -> Task:
    subject = await moderation.subject(key)
    return Task(key, Kind.POINT, subject.text, subject.text_hash, REGIONS)


def arrived(key: str, *, has_end: bool = True) -> Arrived:
    return Arrived(key, VerdictList((), has_end))


async def left_for_s(moderation: Moderation, key: str) -> float:
    """Return the number of seconds for which a text is left to people."""
    query = "SELECT extract(epoch FROM next_retry - clock_timestamp())::float8 FROM subjects WHERE subject_key = %s"
    [(duration_s,)] = await moderation.rows(query, key)
    return float(duration_s)


async def test_an_equal_text_that_somebody_holds_is_not_waited_for(moderation: Moderation) -> None:
    first, held = await create_points(moderation, "chair", "chair")
    async with moderation.database.transaction() as tx:
        await tx.execute(_LOCK_TEXT, [held])
        applying = asyncio.create_task(moderation.apply(first))
        assert not await comes_to_wait(applying, moderation.database, behind=tx)
    assert (await applying).released == 0
    assert (await moderation.subject(first)).status is Status.APPROVED
    assert await left_for_s(moderation, held) == pytest.approx(RETRY_S, abs=30), "it keeps its lease"


async def test_texts_left_to_people_are_locked_in_one_order_with_the_others(moderation: Moderation) -> None:
    held, left = await create_points(moderation, "chair", "table")
    items: list[Recordable] = [WithPeople(await task_of(moderation, left)), arrived(held)]
    async with moderation.database.transaction() as tx:
        await tx.execute(_LOCK_TEXT, [held])
        recording = asyncio.create_task(moderation.record_verdicts(items))
        assert await comes_to_wait(recording, moderation.database, behind=tx)
        async with moderation.database.transaction() as other:
            await other.execute(_LOCK_TEXT, [left])
    await recording
    assert (await moderation.subject(held)).status is Status.APPROVED
    assert await left_for_s(moderation, left) == pytest.approx(PENDING_S, abs=30)


async def test_a_text_that_somebody_holds_is_left_to_people_all_the_same(moderation: Moderation) -> None:
    (held,) = await create_points(moderation, "chair")
    item = WithPeople(await task_of(moderation, held))
    async with moderation.database.transaction() as tx:
        await tx.execute(_LOCK_TEXT, [held])
        recording = asyncio.create_task(moderation.record_verdicts([item]))
        assert await comes_to_wait(recording, moderation.database, behind=tx)
    await recording
    assert await left_for_s(moderation, held) == pytest.approx(PENDING_S, abs=30)


async def test_a_text_left_to_people_is_due_once_its_equal_is_decided(moderation: Moderation) -> None:
    decided, left = await create_points(moderation, "chair", "chair")
    await moderation.record_verdicts([WithPeople(await task_of(moderation, left)), arrived(decided)])
    assert await left_for_s(moderation, left) <= 0


async def test_kept_verdicts_are_written_in_one_order(moderation: Moderation) -> None:
    """Even if the first key comes last, with the second verdict about its text."""
    cache_keys = {text: cache_key(Kind.POINT, REGIONS, text) for text in ("chair", "table")}
    texts = sorted(cache_keys, key=cache_keys.__getitem__)
    for key in await create_points(moderation, *texts):
        await moderation.apply(key)
    first, last = [str(await moderation.create_point(text, regions=REGIONS)) for text in texts]
    items = [arrived(first, has_end=False), arrived(last), arrived(first)]
    async with moderation.database.transaction() as tx:
        await tx.execute(_LOCK_KEPT, [cache_keys[texts[0]]])
        recording = asyncio.create_task(moderation.record_verdicts(items))
        assert await comes_to_wait(recording, moderation.database, behind=tx)
        async with moderation.database.transaction() as other:
            await other.execute(_LOCK_KEPT, [cache_keys[texts[1]]])
    await recording
    assert {(await moderation.subject(key)).status for key in (first, last)} == {Status.APPROVED}
