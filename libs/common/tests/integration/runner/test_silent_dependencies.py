"""The health of a service while a dependency is silent: reported soon, and without piling up checks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from classifeed_common.db import Database
from classifeed_common.errors import Unavailable
from classifeed_common.http import backlog
from classifeed_common.runner import readiness
from classifeed_common.runner.parts import check_table
from classifeed_common.runner.readiness import Readiness
from classifeed_devkit.testing.recovery import Stopwatch, until
from classifeed_devkit.testing.tcp_proxy import ProxiedDatabase, TcpProxy


class Stuck:
    """A silent dependency whose check cannot be cancelled before the end of the test."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_respond = asyncio.Event()
        self.is_over = asyncio.Event()

    async def ask(self) -> dict[str, int]:
        self.calls += 1
        try:
            await self.may_respond.wait()
        except asyncio.CancelledError:
            await self.is_over.wait()
            raise
        return {}

    async def check(self) -> None:
        await self.ask()


@pytest.fixture
async def stuck() -> AsyncIterator[Stuck]:
    stuck = Stuck()
    yield stuck
    stuck.is_over.set()


async def test_a_check_that_is_stuck_is_told_of_at_once_and_asked_once_at_a_time(
    stuck: Stuck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "CHECK_TIMEOUT_S", 0.05)
    changes: list[bool] = []
    state = Readiness({"postgres": stuck.check}, changes.append)
    async with asyncio.timeout(30):
        for _ in range(5):
            assert not await state.check()
            assert state.faults == {"postgres": "no response within 0.05 s"}
    assert stuck.calls == 1
    stuck.may_respond.set()
    async with asyncio.timeout(30):
        assert await state.check()
    assert changes == [False] * 5 + [True]


async def test_a_check_that_is_stuck_for_good_is_begun_anew(stuck: Stuck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "CHECK_TIMEOUT_S", 0.05)
    monkeypatch.setattr(readiness, "_ABANDON_S", 0.1)
    state = Readiness({"postgres": stuck.check}, lambda _: None)

    async def is_called_again() -> bool:
        await state.check()
        return stuck.calls > 1

    await until(is_called_again)


async def test_a_backlog_that_cannot_be_counted_is_not_waited_for(
    stuck: Stuck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "BACKLOG_TIMEOUT_S", 0.05)
    async with asyncio.timeout(30):
        with pytest.raises(Unavailable, match=r"work: no response within 0\.05 s"):
            await backlog.Backlog({"work": stuck.ask}).count()


@pytest.mark.slow
async def test_readiness_follows_a_silent_database(
    database: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE things ()")
    db = await proxied_database()
    changes: list[bool] = []
    state = Readiness({"postgres": check_table(db, "things")}, changes.append)
    stop = asyncio.Event()
    watching = asyncio.create_task(state.watch(stop))
    await until(lambda: changes[-1:] == [True])
    postgres_proxy.silence_existing()
    watch = Stopwatch("readiness: not ready")
    await until(lambda: changes[-1] is False)
    watch.stop()
    await until(lambda: changes[-1] is True)
    watch.stop()
    stop.set()
    await watching
