"""Each group of moderation's tables, and the whole database, is restored while points are created and judged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar
from uuid import uuid4

import psycopg
import pytest

from classifeed_common.errors import DomainError
from classifeed_devkit.testing.databases import DatabaseServer, TableBackup
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.app.points.maintain_publication import PointPublication
from classifeed_moderation.app.points.remove_point import remove_point
from classifeed_moderation.app.points.vote_point import vote_point
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.store.tables import metadata

from ...conftest import CLEAN, MakeModeration, Moderation
from .conftest import FakeReceiver, published

TABLES: Final = frozenset(
    name.removeprefix("queue.")
    for name in metadata.tables
    if not name.endswith("_default")  # partitions are restored with their table
)
JOBS: Final = tuple(sorted(name for name in TABLES if name.startswith("dl_")))
GROUPS: Final = {
    "texts": ("subjects", "decisions"),
    "kept verdicts": ("verdict_cache",),
    "points": ("points", "comments", "votes"),
    "points and texts": ("points", "comments", "votes", "subjects", "decisions"),
    "positions in the receiver": ("published_positions",),
    "appeals": ("appeals",),
    "closings": ("closings",),
    "rejudgements": ("rejudgements",),
    "outbox": ("outbox",),
    "positions in Kafka": ("consumer_offsets",),
    "leases": ("leases",),
    "jobs": JOBS,
}
T = TypeVar("T")
WHOLE: Final = "the whole database"


def test_each_table_belongs_to_a_group() -> None:
    assert {table for tables in GROUPS.values() for table in tables} == TABLES


class Load:
    """Authors who create points, vote and comment all the time, and retry while the service is unavailable."""

    def __init__(self, moderation: Moderation) -> None:
        self._moderation = moderation
        self.rounds = 0
        self.faults: list[BaseException] = []

    async def run(self, stop: asyncio.Event) -> None:
        """Create until `stop`."""
        while not stop.is_set():
            try:
                await self._round()
            except (psycopg.OperationalError, DomainError):
                await asyncio.sleep(0.05)  # the database restarts, or a restore has lost the point meanwhile
            except Exception as error:  # noqa: BLE001 - the test names it
                self.faults.append(error)
                return

    async def _round(self) -> None:
        database = self._moderation.database
        point_id = await self._moderation.create_point(f"text {uuid4()}")
        author = Author("author", AuthorRole.USER)
        await comment_point(
            database,
            self._moderation.store_texts,
            point_id=point_id,
            author=author,
            text="yes",
            request_id=str(uuid4()),
        )
        await vote_point(database, point_id=point_id, author_id="voter", is_for=True)
        self.rounds += 1


@asynccontextmanager
async def under_load(moderation: Moderation, receiver: FakeReceiver) -> AsyncIterator[tuple[Load, PointPublication]]:
    load, stop = Load(moderation), asyncio.Event()
    async with published(moderation, receiver) as publication:
        running = asyncio.create_task(load.run(stop))
        try:
            yield load, publication
        finally:
            stop.set()
            await running
    assert load.faults == []


async def shown(moderation: Moderation) -> set[str]:
    """Return the points that moderation would show."""
    rows = await moderation.rows(
        "SELECT p.point_id FROM points p JOIN subjects s ON s.subject_key = p.point_id::text"
        " WHERE s.status = 'APPROVED' AND p.removed_at IS NULL"
    )
    return {str(point_id) for (point_id,) in rows}


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """Call until the database is available: copying and restoring it end all sessions."""
    while True:
        try:
            return await call()
        except psycopg.OperationalError:
            await asyncio.sleep(0.05)


def passing(condition: Callable[[], Awaitable[bool]]) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        try:
            return await condition()
        except psycopg.OperationalError:  # its connections end with the database
            return False

    return holds


@pytest.mark.parametrize("group", [*GROUPS, WHOLE])
async def test_search_and_points_are_equal_again_and_each_text_is_decided(
    make_moderation: MakeModeration, receiver: FakeReceiver, database_server: DatabaseServer, group: str
) -> None:
    moderation = await make_moderation(check_s=0.2)
    moderation.stand_in.content = CLEAN
    moderation.start(moderation.judge.run, moderation.corrector.run)
    kept = [await moderation.create_point(f"kept {n}", role=AuthorRole.EXPERT) for n in range(3)]
    backup = TableBackup(moderation.database, *GROUPS.get(group, ()))
    copy = database_server.back_up(moderation.database.dsn) if group == WHOLE else None
    if copy is None:
        await backup.take()
    async with under_load(moderation, receiver) as (load, publication):
        lost = [uuid4() for _ in range(3)]
        for point_id in lost:
            await insist(
                lambda: moderation.create_point(f"lost {point_id}", role=AuthorRole.EXPERT, point_id=point_id)  # noqa: B023
            )
        await insist(lambda: remove_point(moderation.database, moderation.clock, point_id=kept[0]))
        expected = {*map(str, lost), *map(str, kept[1:])}
        await until(passing(lambda: is_at_least(receiver, expected)))
        if copy is not None:
            await asyncio.to_thread(database_server.restore, moderation.database.dsn, copy)
        else:
            await backup.restore()
        rounds = load.rounds
        await until(passing(lambda: is_past(load, rounds + 3)))

        async def is_equal() -> bool:
            return set(receiver.shown()) == await shown(moderation)

        await until(passing(is_equal))

    async def is_decided() -> bool:
        return await moderation.rows("SELECT count(*) FROM subjects WHERE status = 'PENDING'") == [(0,)]

    async with published(moderation, receiver) as publication:
        await until(is_decided)
        publication.wake()
        await until(is_equal)
        is_lost = {str(point_id) for point_id in lost}.isdisjoint(receiver.shown())
        assert is_lost == (group in {"texts", "points", "points and texts", WHOLE})
        assert (str(kept[0]) in receiver.shown()) == (group in {"points", "points and texts", WHOLE})
        if group == "texts":
            await until(lambda: "texts" in publication.blocked())
        else:
            assert publication.blocked() == {}


async def is_at_least(receiver: FakeReceiver, expected: set[str]) -> bool:
    return expected <= set(receiver.shown())


async def is_past(load: Load, rounds: int) -> bool:
    return load.rounds >= rounds or bool(load.faults)


async def test_the_numbers_of_decisions_do_not_come_again(
    moderation: Moderation, database_server: DatabaseServer
) -> None:
    """A reader of the event log asks for numbers above the last one that it has read."""

    async def decide() -> int:
        await moderation.create_point("closed", role=AuthorRole.EXPERT)
        [(newest,)] = await moderation.rows("SELECT max(decision_id) FROM decisions")
        return int(newest)

    first = await decide()
    backup = database_server.back_up(moderation.database.dsn)
    read = [await insist(decide) for _ in range(5)]
    assert [first, *read] == sorted({first, *read})
    await asyncio.to_thread(database_server.restore, moderation.database.dsn, backup)
    assert await insist(decide) > read[-1]
