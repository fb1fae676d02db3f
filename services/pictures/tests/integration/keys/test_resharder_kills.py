"""A resharder that is killed, or paused past its session and resumed: no event is lost, some are repeated.

This file is also the process: `python <this file> <json>`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from classifeed.pictures.v1.events_pb2 import PictureEvent
from classifeed_common.db import Database
from classifeed_common.kafka import DeadLetters, KafkaProducer, Message, OrderedConsumer, TablePositions
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.consumers.resharder import Resharder
from classifeed_pictures.domain.urls.canonical import CanonicalRules

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
Start = Callable[..., Awaitable[asyncio.subprocess.Process]]
MADE, SENT = "made", "sent"
RECORDS = 30
GATE = 12  # the record at which a process pauses
ITEMS = 20


class GatedProducer:
    """Pauses the process before or after it sends the events of one record: prints a line, and continues after an input
    line.
    """

    def __init__(self, producer: KafkaProducer, point: str | None) -> None:
        self._producer = producer
        self._point = point

    async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
        urls = {PictureEvent.FromString(message.value).url for message in messages}
        is_gate = f"http://example.com/{GATE * ITEMS}" in urls
        await self._pass_by(MADE, is_gate)
        await self._producer.send(messages, limit_s=limit_s)
        await self._pass_by(SENT, is_gate)

    async def _pass_by(self, point: str, is_gate: bool) -> None:
        if is_gate and point == self._point:
            self._point = None
            sys.stdout.write(f"at {point}\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.readline)


async def reshard(settings: dict[str, Any]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    database = Database(settings["dsn"], schema="test", application_name="resharding")
    await database.open()
    producer = KafkaProducer(settings["bootstrap"], client_id="resharding")
    await producer.start()
    rules = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": []})
    handler = Resharder(
        GatedProducer(producer, settings["point"]),
        DeadLetters(producer),
        current_rules=lambda: rules,
        events_topic=settings["events"],
        partitions=8,
        results_topic=settings["results"],
    )
    await OrderedConsumer(
        bootstrap=settings["bootstrap"],
        group=settings["group"],
        topics=[settings["requests"]],
        positions=TablePositions(database, effect_limit_s=3),
        handle=handler.handle,
        dead_letters=None,
        max_records=5,
        session_timeout_s=3,
        max_poll_interval_s=8,
    ).run(stop)
    await producer.close()
    await database.close()


if __name__ == "__main__":
    asyncio.run(reshard(json.loads(sys.argv[1])))
else:
    from .conftest import Keys, once, repeated


@pytest.fixture
async def start(keys: Keys) -> AsyncIterator[Start]:
    """Yield a function that starts a resharding process; all are killed at the end by their ids."""
    processes: list[asyncio.subprocess.Process] = []

    async def start(point: str | None = None) -> asyncio.subprocess.Process:
        settings = {"point": point, "dsn": keys.database.dsn, "bootstrap": keys.bootstrap, "group": keys.group}
        settings |= {"requests": keys.requests, "events": keys.events, "results": keys.results}
        arguments = (sys.executable, __file__, json.dumps(settings))
        process = await asyncio.create_subprocess_exec(*arguments, stdin=PIPE, stdout=PIPE)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def reach(process: asyncio.subprocess.Process, line: str) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(150):
        while True:
            read = (await process.stdout.readline()).decode()
            assert read, f"the process ended before {line!r}"
            if read.startswith(line):
                return


async def send(keys: Keys, first: int, count: int) -> list[str]:
    """Send records with requests, one URL each; return the URLs."""
    urls = [f"http://example.com/{number}" for number in range(first * ITEMS, (first + count) * ITEMS)]
    await keys.send(
        *(
            keys.request(*urls[at : at + ITEMS], first=first * ITEMS + at, partition=0)
            for at in range(0, len(urls), ITEMS)
        )
    )
    return urls


def has(keys: Keys, urls: list[str]) -> Callable[[], Awaitable[bool]]:
    async def has_all() -> bool:
        return set(urls) <= {each.event.url for each in await keys.shown()}

    return has_all


async def end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    async with asyncio.timeout(150):
        assert await process.wait() == 0


async def test_sigkill_around_the_send(keys: Keys, start: Start) -> None:
    urls = await send(keys, 0, RECORDS)
    for point in (MADE, SENT):
        process = await start(point)
        await reach(process, f"at {point}")
        process.kill()
        await process.wait()
    process = await start()
    await until(has(keys, urls))
    await end(process)
    shown = await keys.shown()
    assert sorted(each.event.url for each in once(shown)) == sorted(urls)
    assert 0 < repeated(shown) <= 5 * ITEMS, "the poll that was killed after its send came again, and nothing else"


@pytest.mark.parametrize("point", [MADE, SENT])
@in_campaigns
async def test_stopped_past_its_session_and_continued(keys: Keys, start: Start, point: str) -> None:
    urls = await send(keys, 0, RECORDS)
    sleeper = await start(point)
    await reach(sleeper, f"at {point}")
    os.kill(sleeper.pid, signal.SIGSTOP)
    heir = await start()
    await until(has(keys, urls))
    assert sleeper.stdin is not None
    sleeper.stdin.write(b"\n")
    os.kill(sleeper.pid, signal.SIGCONT)
    await end(heir)
    more = await send(keys, RECORDS, 5)
    await until(has(keys, more))  # the resumed process continues at the right position
    await end(sleeper)
    shown = await keys.shown()
    assert sorted(each.event.url for each in once(shown)) == sorted(urls + more)
    assert repeated(shown) > 0, "its pending events came late or were repetitions"
    for url in urls:
        [only] = {each.partition for each in shown if each.event.url == url}
        assert only in range(8)
