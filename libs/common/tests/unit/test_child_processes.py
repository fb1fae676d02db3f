"""Child processes that are stopped or do not respond are reported, and only these."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from classifeed_common import processes as module
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.clock import FakeClock
from classifeed_common.processes import stopped_among
from classifeed_devkit.testing.recovery import until


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


@asynccontextmanager
async def watched(children: ChildProcesses) -> AsyncIterator[None]:
    stop = asyncio.Event()
    running = asyncio.create_task(children.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


@pytest.mark.parametrize("has_proc", [True, False])
async def test_a_stopped_child_without_any_call_is_named_until_it_continues(
    process: subprocess.Popen[bytes], has_proc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_HAS_PROC", has_proc and module._HAS_PROC)
    children = ChildProcesses(period_s=0.01)
    children.add("index writer of offers", process.pid)
    async with watched(children):
        os.kill(process.pid, signal.SIGSTOP)
        await until(lambda: bool(children.blocked()))
        [(what, why)] = children.blocked().items()
        assert what == f"index writer of offers (process {process.pid})"
        assert f"`kill -CONT {process.pid}`" in why
        os.kill(process.pid, signal.SIGCONT)
        await until(lambda: not children.blocked())


async def test_a_call_is_named_from_its_limit_until_it_ends() -> None:
    clock = FakeClock()
    children = ChildProcesses(response_s=5, clock=clock)
    child = children.add("decoder", 123)
    with child.call():
        with child.call():
            await clock.advance(5)
        assert children.blocked() == {}
        await clock.advance(2)
        [(what, why)] = children.blocked().items()
        assert what == "decoder (process 123)"
        assert why.startswith("the process has not responded for 7 s.")
    assert children.blocked() == {}


async def test_a_call_that_fails_has_ended() -> None:
    clock = FakeClock()
    children = ChildProcesses(clock=clock)
    child = children.add("decoder", 123)
    with pytest.raises(OSError, match="closed"), child.call():
        raise OSError("closed")
    await clock.advance(60)
    assert children.blocked() == {}


async def test_a_removed_child_is_not_named_and_does_not_remove_its_successor() -> None:
    """The kernel may give a successor the same pid before the owner has removed the first child."""
    clock = FakeClock()
    children = ChildProcesses(clock=clock)
    former, successor = children.add("decoder", 123), children.add("decoder", 123)
    with former.call(), successor.call():
        await clock.advance(60)
        children.remove(former)
        assert len(children.blocked()) == 1
        children.remove(successor)
    children.remove(successor)
    assert children.blocked() == {}


def test_a_child_that_has_ended_is_not_stopped(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    assert stopped_among([process.pid]) == frozenset()


def test_a_child_is_watched_from_its_start_until_it_ends() -> None:
    """The kernel reuses the pids of processes that have ended."""
    children = ChildProcesses()
    child = children.start("formatter", "json.tool", "--compact", environment={})
    with child.socket:
        assert children.pids == [child.pid]
        child.socket.sendall(b"[1, 2]")
        child.socket.shutdown(socket.SHUT_WR)
        assert child.socket.recv(100).strip() == b"[1,2]"
    assert child.wait(60) == 0
    assert children.pids == []


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_child_that_does_not_end_is_killed(is_killed: bool) -> None:
    children = ChildProcesses()
    child = children.start("formatter", "json.tool")
    with child.socket:
        if is_killed:
            child.kill()
            assert children.pids == []
        assert child.wait(60 if is_killed else 0.01) == -signal.SIGKILL
    assert children.pids == []
    assert not child.is_alive
    child.kill()
