"""The pool: the effects of a dying process, and the limits of a process."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from classifeed_common.child_processes import ChildProcesses
from classifeed_devkit.testing.recovery import until
from classifeed_imaging.faults import DECODE_TIMEOUT, TOO_MUCH_MEMORY, DecodeFailed
from classifeed_imaging.limits import Limits
from classifeed_imaging.model import SizeSpec
from classifeed_imaging.processes import process
from classifeed_imaging.processes.pool import DecodePool, PoolFull
from classifeed_imaging.processes.process import ProcessFailed

from ..samples.drawings import saved, texture
from ..samples.hostile import good, many_scans

SIZES = (SizeSpec("large", 800, 800, False), SizeSpec("small", 100, 100, True))
MIB = 1024 * 1024


async def test_a_picture_past_its_deadline_fails_alone() -> None:
    pool = DecodePool(processes=2, deadline_s=0.5)
    await pool.start()
    slow, *others = await asyncio.gather(
        pool.decode(many_scans(8000, 6000, 80), SIZES, ("jpeg",)),
        *(pool.decode(good("jpeg"), SIZES, ("jpeg",)) for _ in range(20)),
        return_exceptions=True,
    )
    assert isinstance(slow, DecodeFailed)
    assert slow.code == DECODE_TIMEOUT
    assert [getattr(each, "width", each) for each in others] == [200] * 20
    await pool.stop()


async def test_a_process_that_its_pool_cannot_kill_ends_by_its_limit_of_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_CLOCK_TIMES", 1e9)
    pool = DecodePool(processes=1, deadline_s=0.5)
    await pool.start()
    await pool.decode(good("jpeg"), SIZES, ("jpeg",))
    (pid,) = pool.pids
    before_s = _cpu_s(pid)
    ended_s = _cpu_s()
    with pytest.raises(DecodeFailed) as caught:
        await pool.decode(many_scans(8000, 6000, 80), SIZES, ("jpeg",))
    assert caught.value.code == DECODE_TIMEOUT
    assert 0.3 <= _cpu_s() - ended_s - before_s <= 1.5  # in ticks of the kernel
    assert pid not in pool.pids
    await pool.stop()


async def test_a_picture_may_take_five_seconds_of_cpu_unless_somebody_says_otherwise() -> None:
    pool = DecodePool(processes=1)
    await pool.start()
    (pid,) = pool.pids
    *_, options = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
    assert json.loads(options)["deadline_s"] == 5
    await pool.stop()


def _cpu_s(pid: int | None = None) -> float:
    """Return the CPU time of a process, or of all our ended child processes."""
    if pid is None:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


async def test_a_picture_is_not_refused_because_the_machine_is_busy() -> None:
    pool = DecodePool(processes=1, deadline_s=1)
    await pool.start()
    (pid,) = pool.pids
    request = asyncio.create_task(pool.decode(good("jpeg"), SIZES, ("jpeg",)))
    os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(1.2)  # no CPU for longer than the deadline
    os.kill(pid, signal.SIGCONT)
    assert (await request).width == 200
    assert pool.pids == [pid]
    await pool.stop()


async def test_a_process_that_stands_still_is_ended_and_costs_no_picture() -> None:
    pool = DecodePool(processes=1, deadline_s=0.5)
    await pool.start()
    (pid,) = pool.pids
    os.kill(pid, signal.SIGSTOP)
    assert (await pool.decode(good("jpeg"), SIZES, ("jpeg",))).width == 200
    assert pid not in pool.pids
    await pool.stop()


async def test_a_process_that_is_stopped_is_named_until_another_one_has_its_place() -> None:
    pool = DecodePool(processes=1, children=ChildProcesses(period_s=0.01))
    stop = asyncio.Event()
    watching = asyncio.create_task(pool.children.run(stop))
    await pool.start()
    (pid,) = pool.pids
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: bool(pool.children.blocked()))
    [(name, words)] = pool.children.blocked().items()
    assert name == f"picture decoder (process {pid})"
    assert "stopped by a signal" in words
    os.kill(pid, signal.SIGKILL)
    assert (await pool.decode(good("jpeg"), SIZES, ("jpeg",))).width == 200
    await until(lambda: not pool.children.blocked())
    stop.set()
    await watching
    await pool.stop()


async def test_a_process_that_does_not_respond_is_named() -> None:
    pool = DecodePool(processes=1, children=ChildProcesses(response_s=0.2))
    await pool.start()
    (pid,) = pool.pids
    request = asyncio.create_task(pool.decode(many_scans(8000, 6000, 80), SIZES, ("jpeg",)))
    await until(lambda: bool(pool.children.blocked()))
    [(name, words)] = pool.children.blocked().items()
    assert name == f"picture decoder (process {pid})"
    assert "has not responded" in words
    with suppress(DecodeFailed):
        await request
    assert pool.children.blocked() == {}
    await pool.stop()


async def test_a_process_killed_while_idle_costs_no_picture() -> None:
    pool = DecodePool(processes=1)
    await pool.start()
    (pid,) = pool.pids
    os.kill(pid, signal.SIGKILL)
    assert (await pool.decode(good("jpeg"), SIZES, ("jpeg",))).width == 200
    assert pid not in pool.pids
    await pool.stop()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, TOO_MUCH_MEMORY), (signal.SIGSEGV, "PICTURE_BROKEN")])
async def test_a_process_that_dies_again_and_again_gives_its_picture_a_reason(sent: signal.Signals, code: str) -> None:
    pool = DecodePool(processes=1, deadline_s=30)
    await pool.start()
    request = asyncio.create_task(pool.decode(many_scans(8000, 6000, 80), SIZES, ("jpeg",)))
    while not request.done():
        for pid in pool.pids:
            with suppress(ProcessLookupError):  # the process has ended meanwhile
                os.kill(pid, sent)
        await asyncio.sleep(0.001)
    with pytest.raises(DecodeFailed) as caught:
        await request
    assert caught.value.code == code
    assert (await pool.decode(good("jpeg"), SIZES, ("jpeg",))).width == 200
    await pool.stop()


async def test_too_little_memory_is_told_and_the_next_picture_is_decoded() -> None:
    pool = DecodePool(processes=1, limits=Limits(memory_bytes=200 * MIB))
    await pool.start()
    # PNG holds 4 bytes per pixel; the check before the decode is for 49 megapixels, the kernel's limit for the rest.
    with pytest.raises(DecodeFailed) as caught:
        await pool.decode(saved(texture(np.random.default_rng(1), 3500, 3500), "PNG", compress_level=0), SIZES, ())
    assert caught.value.code == TOO_MUCH_MEMORY
    assert (await pool.decode(good("jpeg"), SIZES, ("jpeg",))).width == 200
    await pool.stop()


async def test_the_event_loop_runs_on_while_a_picture_is_decoded() -> None:
    pool = DecodePool(processes=1)
    await pool.start()
    request = asyncio.create_task(pool.decode(many_scans(3000, 2000, 40), SIZES, ("jpeg",)))
    turns = 0
    while not request.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await request).width == 3000
    assert turns > 1000
    await pool.stop()


async def test_a_canceled_request_leaves_no_answer_to_the_next() -> None:
    pool = DecodePool(processes=1)
    await pool.start()
    (pid,) = pool.pids
    request = asyncio.create_task(pool.decode(many_scans(3000, 2000, 40), SIZES, ("jpeg",)))
    while Path(f"/proc/{pid}/stat").read_text().split()[2] != "R":
        await asyncio.sleep(0)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    decoded = await pool.decode(good("png"), SIZES, ("jpeg",))
    assert (decoded.format, decoded.width) == ("png", 200)
    await pool.stop()


async def test_no_more_wait_than_may() -> None:
    pool = DecodePool(processes=1, waiting=2)
    await pool.start()
    results = await asyncio.gather(
        *(pool.decode(good("jpeg"), SIZES, ("jpeg",)) for _ in range(5)), return_exceptions=True
    )
    assert [type(result).__name__ for result in results] == ["Decoded"] * 3 + ["PoolFull"] * 2
    assert issubclass(PoolFull, Exception)
    await pool.stop()


async def test_a_process_is_replaced_after_so_many_pictures() -> None:
    pool = DecodePool(processes=1, pictures_per_process=2)
    await pool.start()
    seen = []
    for _ in range(6):
        await pool.decode(good("jpeg"), (), ())
        seen.extend(pool.pids)
    # A process with its maximum number of pictures is replaced after the response, so it may still be listed.
    assert len(set(seen)) >= 3
    await pool.stop()


async def test_processes_are_started_for_the_first_picture() -> None:
    pool = DecodePool(processes=2)
    assert pool.pids == []
    await asyncio.gather(*(pool.decode(good("jpeg"), SIZES, ("jpeg",)) for _ in range(3)))
    assert len(pool.pids) == 2
    await pool.stop()
    assert pool.pids == []


async def test_a_pool_that_was_stopped_starts_no_process() -> None:
    pool = DecodePool(processes=1)
    await pool.stop()
    with pytest.raises(ProcessFailed):
        await pool.decode(good("jpeg"), SIZES, ("jpeg",))
    assert pool.pids == []


async def test_stopping_waits_for_pictures_and_leaves_no_process() -> None:
    pool = DecodePool(processes=1)
    await pool.start()
    (pid,) = pool.pids
    request = asyncio.create_task(pool.decode(many_scans(3000, 2000, 40), SIZES, ("jpeg",)))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(pool.decode(good("jpeg"), SIZES, ("jpeg",)))
    await asyncio.sleep(0)
    await pool.stop()
    assert (await request).width == 3000
    with pytest.raises(ProcessFailed):
        await waiting
    with pytest.raises(ProcessFailed):
        await pool.decode(good("jpeg"), SIZES, ("jpeg",))
    assert not Path(f"/proc/{pid}").exists()


async def test_a_process_has_no_descriptors_but_its_pipes_and_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_PICTURES_DATABASE_DSN", "postgresql://secret")
    secret, other = os.pipe()
    os.set_inheritable(secret, True)
    pool = DecodePool(processes=1)
    await pool.start()
    (pid,) = pool.pids
    assert sorted(path.name for path in Path(f"/proc/{pid}/fd").iterdir()) == ["0", "1", "2"]
    assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    assert next(line for line in limits if line.startswith("Max open files")).split()[3:5] == ["3", "3"]
    await pool.stop()
    os.close(secret)
    os.close(other)


async def test_a_picture_comes_from_a_file_too_and_further_sizes_later(tmp_path: Path) -> None:
    pool = DecodePool(processes=1)
    await pool.start()
    path = tmp_path / "picture"
    path.write_bytes(good("png"))
    decoded = await pool.decode(path, SIZES, ("jpeg", "webp", "avif"))
    assert decoded.original == good("png")
    assert [(each.size, each.format) for each in decoded.versions] == [
        (size, name) for size in ("large", "small") for name in ("jpeg", "webp", "avif")
    ]
    (version,) = await pool.resize(decoded.original, [SizeSpec("tiny", 20, 20, False)], ["webp"])
    assert (version.size, version.width, version.height) == ("tiny", 20, 15)
    with pytest.raises(FileNotFoundError):
        await pool.decode(tmp_path / "none", SIZES, ("jpeg",))
    assert len(pool.pids) == 1
    await pool.stop()


async def test_a_format_that_is_not_made_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="Formats are"):
        await DecodePool().decode(good("png"), SIZES, ("tiff",))
