"""A pass over due states: in slices, killed between and within them, and on a replica."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from psycopg.conninfo import make_conninfo

from classifeed.pictures.v1.requests_pb2 import PictureNotices
from classifeed_common.db import Database, Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import JobContext
from classifeed_pictures.domain.urls.canonical import url_hash
from classifeed_pictures.jobs import look_again
from classifeed_pictures.jobs.look_again import TASK, LookAgainJob, NoArgs

from ..conftest import Service
from ..picture_host import PictureHost, jpeg

NOW = datetime.now(UTC)
READ_ONLY = "-c default_transaction_read_only=on"
MakeDatabase = Callable[[str], Awaitable[Database]]


class Killed(Exception):
    """The process was killed."""


class Run:
    """The context of a job whose runs end at any step; `dies_at` is the slice whose transaction is not committed."""

    def __init__(self, database: Database, *, dies_at: int = 0) -> None:
        self.database = database
        self.checkpoint: Any = None
        self.slices = 0
        self._dies_at = dies_at

    @asynccontextmanager
    async def guarded_transaction(self) -> AsyncIterator[Tx]:
        async with self.database.transaction() as tx:
            yield tx
            self.slices += 1
            if self.slices == self._dies_at:
                raise Killed
        self.checkpoint = self.saved

    async def save_checkpoint(self, _tx: Tx, checkpoint: Any, **_options: Any) -> None:
        self.saved = checkpoint

    def raise_if_stopped(self) -> None:
        pass


@pytest.fixture
async def database(migrated_database: MakeDatabase) -> Database:
    return await migrated_database("classifeed_pictures")


@pytest.fixture
async def replica(migrated_database: MakeDatabase) -> AsyncIterator[tuple[Database, Database]]:
    """Yield a replica, with write access as for its primary and with read access only."""
    primary = await migrated_database("classifeed_pictures")
    dsn = make_conninfo(primary.dsn, options=READ_ONLY)
    reader = Database(dsn, schema=primary.schema, application_name="replica")
    await reader.open()
    yield primary, reader
    await reader.close()


async def _put(database: Database, urls: Sequence[str], due: timedelta) -> None:
    async with database.transaction() as tx:
        for url in urls:
            await tx.execute(
                "INSERT INTO pictures (url_hash, url, next_attempt_at, holdings) VALUES (%s, %s, %s, '')",
                (url_hash(url), url, NOW + due),
            )


async def _noticed(database: Database) -> list[str]:
    async with database.transaction() as tx:
        rows = await (await tx.execute("DELETE FROM outbox RETURNING value")).fetchall()
    return sorted(notice.url for (value,) in rows for notice in PictureNotices.FromString(value).notices)


def _urls(count: int, word: str) -> list[str]:
    return [f"https://shop.example/{word}{number}.jpg" for number in range(count)]


async def _pass(run: Run, *, replica: Database | None = None, steps: int | None = None) -> bool:
    """Run the job to its end, or for a number of steps; return whether it is complete."""
    handler = LookAgainJob(Outbox(), 60, replica).tasks()[TASK].handler
    progress = cast("AsyncIterator[Any]", handler(cast(JobContext, run), NoArgs()))
    done = 0
    async for _ in progress:
        done += 1
        if done == steps:
            await progress.aclose()  # type: ignore[attr-defined]
            return False
    return True


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_again, "_STATES", 4)


async def test_all_that_is_due_is_found_in_slices_by_runs_that_die_between_two(database: Database) -> None:
    at_once, earlier = _urls(7, "at-once"), _urls(6, "earlier")
    await _put(database, at_once, timedelta(minutes=-1))  # the same time for all, so that a slice ends among them
    for number, url in enumerate(earlier):
        await _put(database, [url], timedelta(hours=-1 - number))
    await _put(database, _urls(5, "later"), timedelta(hours=1))
    run, found = Run(database), []
    runs = 1
    while not await _pass(run, steps=1):
        slice_ = await _noticed(database)
        assert len(slice_) <= 4
        found += slice_
        runs += 1
    assert runs >= 4
    assert sorted(found + await _noticed(database)) == sorted([*at_once, *earlier])


async def test_a_slice_that_dies_is_found_again_and_nothing_twice(database: Database) -> None:
    due = _urls(10, "due")
    await _put(database, due, timedelta(minutes=-1))
    run = Run(database, dies_at=2)
    with pytest.raises(Killed):
        await _pass(run)
    assert len(await _noticed(database)) == 4
    assert await _pass(run)
    assert len(await _noticed(database)) == 6


async def test_states_are_sought_on_the_replica_and_notices_written_on_the_primary(
    database: Database, replica: tuple[Database, Database]
) -> None:
    there, reader = replica
    await _put(there, _urls(9, "there"), timedelta(minutes=-1))
    await _put(database, _urls(9, "here"), timedelta(minutes=-1))
    assert await _pass(Run(database), replica=reader)
    assert await _noticed(database) == _urls(9, "there")
    assert await _noticed(there) == []


class TestOfTheService:
    @pytest.fixture
    def options(self, replica: tuple[Database, Database]) -> dict[str, Any]:
        return {"replica_dsn": replica[1].dsn}

    async def test_what_its_replica_says_is_due_is_downloaded(
        self, service: Service, host: PictureHost, replica: tuple[Database, Database]
    ) -> None:
        url = host.url("/late.jpg")
        await service.request([url])
        await service.results(1)
        host.put("/late.jpg", jpeg())
        # Shows that the replica is read: only there the states are due.
        await service.rows(
            "UPDATE pictures SET next_attempt_at = NULL, retry_at = now(), revision = revision + 1 RETURNING 1"
        )
        await _put(replica[0], [url], timedelta(minutes=-1))
        [result] = await service.results(1)
        assert (result.url, result.info.width) == (url, 640)
        assert host.count("/late.jpg") == 2
