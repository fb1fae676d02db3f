"""Each record takes effect once and in order, even if processes are killed or paused; simpler consumers fail.

This file is also the process that the tests kill: `python <this file> <json>`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from classifeed_common.db import Database, Tx
from classifeed_common.kafka import GroupPartition, OrderedConsumer, Position, Record, TablePositions
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import until

if TYPE_CHECKING:  # the killed process runs this file by its path, without a package
    from .conftest import ConsumerScene

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

POLLED, HANDLING, COMMITTED = "polled", "handling", "committed"
GATE_VALUE = "000012"
COUNT = 30


class Gate:
    """Pauses the process at one point of one record: reports it, and continues when a line is received."""

    def __init__(self, point: str | None) -> None:
        self._point = point

    async def pass_by(self, point: str, records: list[str]) -> None:
        if point == self._point and GATE_VALUE in records:
            self._point = None
            sys.stdout.write(f"at {point}\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.readline)


async def write(tx: Tx, values: list[str]) -> None:
    async with tx.cursor() as cursor:
        await cursor.executemany("INSERT INTO effects (key, value) VALUES ('', %s)", [(value,) for value in values])


class GatedPositions(TablePositions):
    """The real positions, with pauses before and after the effect."""

    def __init__(self, db: Database, gate: Gate) -> None:
        super().__init__(db, effect_limit_s=3)
        self._gate = gate
        self.coming: list[str] = []

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[Tx]:
        holds_gate = any(at.next <= int(GATE_VALUE) < new[part].next for part, at in expected.items())
        values = [GATE_VALUE] if holds_gate else []
        await self._gate.pass_by(POLLED, values)
        async with super().effect(expected, new) as tx:
            yield tx
        await self._gate.pass_by(COMMITTED, values)


async def consume_really(db: Database, gate: Gate, bootstrap: str, topic: str, stop: asyncio.Event) -> None:
    async def handle(tx: Tx, records: Sequence[Record]) -> None:
        values = [record.value.decode() for record in records]
        await write(tx, values)
        await gate.pass_by(HANDLING, values)

    await OrderedConsumer(
        bootstrap=bootstrap,
        group=topic,
        topics=[topic],
        positions=GatedPositions(db, gate),
        handle=handle,
        dead_letters=None,
        max_records=5,
        session_timeout_s=6,
        max_poll_interval_s=8,
    ).run(stop)


async def consume_naively(
    db: Database, gate: Gate, bootstrap: str, topic: str, stop: asyncio.Event, *, commit_first: bool
) -> None:
    """Consume with Kafka's own commits only, before or after the effect."""
    from confluent_kafka import Consumer, KafkaException

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
        }
    )
    consumer.subscribe([topic])
    while not stop.is_set():
        messages = await asyncio.to_thread(consumer.consume, 5, 0.2)
        values = [(message.value() or b"").decode() for message in messages if message.error() is None]
        if not values:
            continue
        if commit_first:
            await asyncio.to_thread(consumer.commit, message=messages[-1], asynchronous=False)
        await gate.pass_by(POLLED, values)
        async with db.transaction() as tx:
            await write(tx, values)
            await gate.pass_by(HANDLING, values)
        await gate.pass_by(COMMITTED, values)
        if not commit_first:
            with suppress(KafkaException):  # a zombie's commit is refused, after its effect
                await asyncio.to_thread(consumer.commit, message=messages[-1], asynchronous=False)
    consumer.close()


async def consume(settings: dict[str, str]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    db = Database(settings["dsn"], schema="test", application_name="consuming")
    await db.open()
    gate = Gate(settings["point"])
    common = (db, gate, settings["bootstrap"], settings["topic"], stop)
    if settings["way"] == "real":
        await consume_really(*common)
    else:
        await consume_naively(*common, commit_first=settings["way"] == "commit first")
    await db.close()


Start = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def start(scene: ConsumerScene) -> AsyncIterator[Start]:
    """Start a consumer process of the scene's topic; all are killed at the end, by their ids."""
    processes: list[asyncio.subprocess.Process] = []

    async def start(way: str, point: str | None = None) -> asyncio.subprocess.Process:
        settings = {
            "way": way,
            "point": point,
            "dsn": scene.database.dsn,
            "bootstrap": scene.kafka.bootstrap,
            "topic": scene.topic,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__)),
            json.dumps(settings),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def reach(process: asyncio.subprocess.Process, line: str) -> None:
    async with asyncio.timeout(150):
        while True:
            assert process.stdout is not None
            read = (await process.stdout.readline()).decode()
            assert read, f"the process ended before {line!r}"
            if read.startswith(line):
                return


async def end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    async with asyncio.timeout(150):
        assert await process.wait() == 0


@pytest.mark.parametrize(
    ("way", "points", "fault"),
    [
        ("real", (POLLED, HANDLING, COMMITTED), None),
        pytest.param("commit first", (POLLED,), "lost", marks=in_campaigns),
        pytest.param("effect without comparison", (COMMITTED,), "doubled", marks=in_campaigns),
    ],
)
async def test_sigkill_around_the_effect(
    scene: ConsumerScene, start: Start, way: str, points: tuple[str, ...], fault: str | None
) -> None:
    sent = await scene.send(COUNT)
    for point in points:
        process = await start(way, point)
        await reach(process, f"at {point}")
        process.kill()
        await process.wait()
        if point != COMMITTED:
            # Otherwise the same record does not stop the next process: it is already handled.
            assert GATE_VALUE not in await scene.effects()
    process = await start(way)
    await scene.handled(sent[-1:], 150)
    await end(process)
    report = await scene.report()
    assert bool(report.lost) == (fault == "lost"), report
    assert bool(report.doubled) == (fault == "doubled"), report
    if fault is None:
        assert not report.disordered


@pytest.mark.parametrize(
    ("way", "point", "fault"),
    [
        ("real", HANDLING, None),
        pytest.param("real", POLLED, None, marks=in_campaigns),
        pytest.param("effect without comparison", POLLED, "doubled", marks=in_campaigns),
    ],
)
async def test_zombie_stopped_past_its_session(
    scene: ConsumerScene, start: Start, way: str, point: str, fault: str | None
) -> None:
    """SIGSTOP before or inside the effect; another process takes over; then the first one is resumed."""
    sent = await scene.send(COUNT)
    zombie = await start(way, point)
    await reach(zombie, f"at {point}")
    os.kill(zombie.pid, signal.SIGSTOP)
    heir = await start(way)
    await scene.handled(sent[-1:], 150)
    assert zombie.stdin is not None
    zombie.stdin.write(b"\n")
    os.kill(zombie.pid, signal.SIGCONT)
    if fault == "doubled":
        await until(lambda: _doubled(scene))
    await end(heir)
    more = await scene.send(5)
    await scene.handled(more[-1:], 150)  # the resumed process works again, from the right position
    await end(zombie)
    report = await scene.report()
    assert not report.lost
    assert bool(report.doubled) == (fault == "doubled"), report
    if fault is None:
        assert not report.disordered


async def _doubled(scene: ConsumerScene) -> bool:
    return bool((await scene.report()).doubled)


if __name__ == "__main__":
    asyncio.run(consume(json.loads(sys.argv[1])))
