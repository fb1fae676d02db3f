"""The supervisor survives a full disk, a lack of processes or file descriptors, and a failing log."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from classifeed_cli.platform.planning.layout import Layout, read_json
from classifeed_cli.platform.planning.plan import make_plan
from classifeed_cli.platform.supervision import supervisor as supervisor_module
from classifeed_cli.platform.supervision.supervised import Supervised
from classifeed_cli.platform.supervision.supervisor import Supervisor
from classifeed_devkit.embedded.process import spawn_bound
from classifeed_devkit.testing.recovery import until

_SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]


class Reports(list[str]):
    """Messages to a log on a full disk."""

    def __call__(self, text: str) -> None:
        self.append(text)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "data")
    layout.prepare()
    return layout


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def supervisor(layout: Layout, reports: Reports, monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    monkeypatch.setattr(supervisor_module, "_REWRITE_S", 0.02)
    monkeypatch.setattr(supervisor_module, "TOKEN_RENEWAL_S", 0.02)
    return Supervisor(make_plan(layout, ["receiver"]), reports)


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    away = folder.with_name("away")
    folder.rename(away)
    yield
    away.rename(folder)


def supervise(layout: Layout, on_change: Callable[[], None], *faults: OSError) -> Supervised:
    """Return a supervised process instead of PostgreSQL, whose first starts fail with the given errors."""
    log = layout.log("postgres")
    to_raise = iter(faults)

    def spawn() -> subprocess.Popen[bytes]:
        for fault in to_raise:
            raise fault
        return spawn_bound(_SLEEP, log=log)

    async def is_ready() -> bool:
        return True

    return Supervised("postgres", spawn=spawn, probe=is_ready, log=log, on_change=on_change)


async def test_a_process_is_started_again_while_the_state_cannot_be_written(
    layout: Layout, supervisor: Supervisor, reports: Reports
) -> None:
    unit = supervise(layout, supervisor.write_state)
    supervisor.parts = [unit]

    def is_written() -> bool:
        state = read_json(layout.supervisor)
        identity = unit.identity
        return state is not None and identity is not None and state["parts"]["postgres"]["pid"] == identity.pid

    unit.start()
    await until(lambda: unit.ready and is_written())
    with unwritable(layout.run):
        assert unit.process is not None
        unit.process.kill()
        await until(lambda: unit.restarts == 1 and unit.ready)
    await until(is_written)
    await unit.stop()
    [report] = reports
    assert report.startswith("the state cannot be written: ")


async def test_a_process_that_cannot_be_started_is_started_later(layout: Layout) -> None:
    unit = supervise(layout, lambda: None, OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)))
    unit.start()
    refusal = unit.refusal
    assert refusal == f"postgres: {layout.log('postgres')}: {os.strerror(errno.EAGAIN)}"
    async with asyncio.timeout(30):
        await unit.wait_ready()
    assert (unit.restarts, unit.refusal) == (1, None)
    await unit.stop()


async def test_tokens_are_renewed_in_the_round_after_one_that_failed(
    layout: Layout, supervisor: Supervisor, reports: Reports
) -> None:
    token = layout.token("operator")
    token.mkdir()
    renewing = asyncio.create_task(supervisor._renew_tokens())
    await until(lambda: bool(reports))
    token.rmdir()
    await until(token.is_file)
    renewing.cancel()
    await asyncio.gather(renewing, return_exceptions=True)
    assert reports[0].startswith("tokens were not renewed: ")
    assert list(layout.keys.glob(".*")) == [], "no drafts are left"


async def test_stop_ends_the_processes_though_the_state_cannot_be_written(
    layout: Layout, supervisor: Supervisor
) -> None:
    unit = supervise(layout, supervisor.write_state)
    supervisor.parts = [unit]
    unit.start()
    await until(lambda: unit.ready)
    with unwritable(layout.run):
        await supervisor.stop()
        assert not unit.alive


async def test_restarts_are_remembered_with_the_end_of_the_log(layout: Layout) -> None:
    """Each new process appends to the same log, so the last lines are recorded when a process exits."""
    log = layout.log("x")
    command = [sys.executable, "-S", "-c", "import sys; print('why it ended', flush=True); sys.exit(1)"]
    unit = Supervised("x", spawn=lambda: spawn_bound(command, log=log), probe=asyncio.Event().wait, log=log)
    unit.start()
    try:
        await until(lambda: len(unit.restart_times) == 3)
        assert unit.last_exit == 1
        assert unit.last_words.splitlines()[-1] == "why it ended"
    finally:
        await unit.stop()


async def test_restarts_after_an_exit_with_0_are_no_crashes(layout: Layout) -> None:
    log = layout.log("x")
    unit = Supervised(
        "x",
        spawn=lambda: spawn_bound([sys.executable, "-S", "-c", ""], log=log),
        probe=asyncio.Event().wait,
        log=log,
    )
    unit.start()
    try:
        await until(lambda: unit.restarts == 2)
        assert not unit.restart_times
    finally:
        await unit.stop()
