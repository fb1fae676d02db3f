"""Hostile files in the pool: each gets its result, in bounded time and memory, and nothing else is affected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from classifeed_imaging.faults import CODES, DecodeFailed
from classifeed_imaging.model import SizeSpec
from classifeed_imaging.processes.pool import DecodePool

from ..samples.hostile import OK, SCRIPT, Hostile, every_hostile, good

SIZES = (SizeSpec("large", 800, 800, False), SizeSpec("small", 100, 100, True))
MEMORY_BYTES = 512 * 1024 * 1024
HOSTILE = list(every_hostile())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[DecodePool]:
    made = DecodePool(processes=1)
    await made.start()
    yield made
    await made.stop()


def read_status(pid: int, field: str) -> int:
    """Return a size of a process in bytes, by the kernel's status file."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def read_limit(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line[26:].split()[1] for line in lines if line.startswith(name))


def test_there_are_enough() -> None:
    assert len(HOSTILE) >= 60 + 100


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.name)
async def test_a_hostile_file_is_answered_and_harms_nothing_else(pool: DecodePool, case: Hostile) -> None:
    data = case.make()
    (before,) = pool.pids
    assert read_limit(before, "Max address space") == str(MEMORY_BYTES)

    try:
        # Timeout of the test only; the pool itself enforces the deadlines of CPU and clock.
        async with asyncio.timeout(60):
            decoded = await pool.decode(data, SIZES, ("jpeg", "webp"))
    except DecodeFailed as fault:
        assert fault.code in case.codes
        assert fault.code in CODES
        assert fault.message.endswith(".")
        assert fault.message.count(" ") > 5
    else:
        assert OK in case.codes
        assert len(decoded.versions) == 4
        assert SCRIPT not in decoded.original
        assert b"payload.html" not in decoded.original

    if before in pool.pids:
        assert read_status(before, "VmHWM") <= read_status(before, "VmPeak") <= MEMORY_BYTES
    assert (await pool.decode(good("jpeg"), SIZES, ("jpeg",))).width == 200
