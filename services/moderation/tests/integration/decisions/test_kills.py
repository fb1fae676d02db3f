"""Moderation is killed at each step, and PostgreSQL restarts: every text is decided once, and reported."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.decisions import apply_verdicts as applying
from classifeed_moderation.app.decisions import record_verdicts as recording
from classifeed_moderation.store import decisions, subjects

from ...conftest import RETRY_S, Moderation, StandIn, refused_if_bad

MakeModeration = Callable[..., Awaitable[Moderation]]
TEXTS = 8
# Final state of each text: its status, its applied decisions, and its events.
FOUND = """
SELECT s.status, (SELECT count(*) FROM decisions d WHERE d.subject_key = s.subject_key AND d.is_applied),
       (SELECT count(*) FROM outbox o
        WHERE o.topic = 'moderation.events.v1' AND o.key = convert_to(s.subject_key, 'UTF8'))
FROM subjects s
WHERE s.text LIKE %s
"""


async def hang(*_: Any, **__: Any) -> None:
    """Never return: the task is cut off when its process dies."""
    await asyncio.Event().wait()


class Dying:
    """A process that dies at a step: none of its tasks runs afterwards, and uncommitted work is lost."""

    def __init__(self, moderation: Moderation, step: str, patch: pytest.MonkeyPatch) -> None:
        self.moderation = moderation
        self.reached = asyncio.Event()
        match step:
            case "before the request":
                patch.setattr(moderation.breaker, "enter", self._at(hang))
            case "while it is requested":
                moderation.stand_in.released.clear()
            case "before it is recorded":
                patch.setattr(moderation.judge, "_record_verdicts", self._at(hang))
            case "as its row is locked":
                patch.setattr(subjects, "lock_subjects", self._at(subjects.lock_subjects))
            case "as it is recorded":
                patch.setattr(decisions, "record", self._at(decisions.record))
            case "before the commit":
                patch.setattr(recording, "apply_verdicts", self._at(applying.apply_verdicts))
            case "after the commit":
                patch.setattr(moderation.record_verdicts, "_on_decided", self._die_now)

    def _at(self, does: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step(*args: Any, **options: Any) -> Any:
            if does is not hang:
                await does(*args, **options)
            self.reached.set()
            await hang()

        return step

    def _die_now(self) -> None:
        self.reached.set()
        raise asyncio.CancelledError

    async def die(self) -> None:
        """End every task at its current step; its connections close, as in a killed process."""
        tasks = [*self.moderation._tasks, self.moderation.record_verdicts._writing]
        for task in tasks:
            if task is not None:
                task.cancel()
        await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)
        self.moderation._tasks.clear()


STEPS = [
    "before the request",
    "while it is requested",
    "before it is recorded",
    "as its row is locked",
    "as it is recorded",
    "before the commit",
    "after the commit",
]


@pytest.mark.parametrize("step", STEPS)
async def test_a_process_that_dies_leaves_every_text_to_another(
    make_moderation: MakeModeration, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first, second = await make_moderation(), await make_moderation()
    first.stand_in.respond = refused_if_bad
    for number in range(TEXTS):
        await first.create_point(f"{'bad' if number % 4 == 0 else 'good'} {number}")
    with monkeypatch.context() as patch:
        dying = Dying(first, step, patch)
        first.start()
        await (first.stand_in.arrived if step == "while it is requested" else dying.reached).wait()
        await dying.die()
    first.stand_in.released.set()
    await second.advance(RETRY_S + 1)
    second.start(second.judge.run, second.corrector.run)

    async def is_decided() -> bool:
        return await second.rows("SELECT count(*) FROM subjects WHERE status = 'PENDING'") == [(0,)]

    await until(is_decided)
    assert await second.rows(FOUND, "good%") == [("APPROVED", 1, 1)] * (TEXTS * 3 // 4)
    assert await second.rows(FOUND, "bad%") == [("DISAPPROVED", 1, 1)] * (TEXTS // 4)


@pytest.mark.slow
async def test_postgresql_restarts_while_points_come_and_verdicts_go(
    migrated_database: MigratedDatabase, postgres: EmbeddedPostgres, stand_in: StandIn
) -> None:
    """Stored texts are decided by the same tasks: none of them is started again."""
    stand_in.respond = refused_if_bad
    database = await migrated_database("classifeed_moderation")
    moderation = Moderation(database, stand_in, workers=8, check_s=0.2)
    moderation.start(moderation.judge.run, moderation.corrector.run)
    stored: list[UUID] = []
    stop = asyncio.Event()

    async def create() -> None:
        while not stop.is_set():
            point_id = uuid4()
            try:
                await moderation.create_point(f"{'bad' if len(stored) % 4 == 0 else 'good'}", point_id=point_id)
            except psycopg.OperationalError:
                await asyncio.sleep(0.01)
            else:
                stored.append(point_id)

    async def count(status: str) -> int:
        try:
            return int((await moderation.rows("SELECT count(*) FROM subjects WHERE status = %s", status))[0][0])
        except psycopg.OperationalError:
            return -1

    creating = asyncio.create_task(create())
    for _ in range(2):
        target = len(stored) + 50
        await until(lambda target=target: len(stored) >= target)  # type: ignore[misc]
        await asyncio.to_thread(postgres.kill)
        postgres.start(300)  # in this thread: the server ends with the thread that starts it
    target = len(stored) + 20
    await until(lambda: len(stored) >= target)
    stop.set()
    await creating
    await until(lambda: not moderation.queue._known)
    await moderation.advance(RETRY_S + 1)

    async def is_decided() -> bool:
        return await count("PENDING") == 0

    await until(is_decided)
    known = {UUID(key) for (key,) in await moderation.rows("SELECT subject_key FROM subjects")}
    assert set(stored) <= known, "what was confirmed is there"
    assert set(await moderation.rows(FOUND, "good%")) == {("APPROVED", 1, 1)}
    assert set(await moderation.rows(FOUND, "bad%")) == {("DISAPPROVED", 1, 1)}
    await moderation.close()
