"""Failures of the processes and servers of a campaign, and of a process in the middle of its work."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.consumers import events, resharder

from ..campaign import Campaign
from ..fleet import PROCESSOR, RESHARDER
from ..picture_host import PictureHost

RECOVERY_S: Final = 300.0
READERS: Final = {RESHARDER: resharder.GROUP, PROCESSOR: events.GROUP}
_LOCK: Final = """SELECT FROM consumer_offsets WHERE "group" = %s FOR UPDATE"""
_BEHIND: Final = """
SELECT pid, client_port FROM pg_stat_activity
 WHERE datname = current_database() AND %s = ANY (pg_blocking_pids(pid))
"""
_END: Final = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {backend} AND state = 'idle in transaction'
"""
_STATE: Final = """
SELECT (to_jsonb(p) - 'mark')::text,
       (SELECT array_agg((to_jsonb(s) - 'mark')::text ORDER BY s.namespace, s.group_id, s.name)
          FROM stored_pictures s WHERE s.url_hash = p.url_hash)
  FROM pictures p WHERE NOT is_put ORDER BY 1
"""


@dataclass(frozen=True)
class Servers:
    """The servers of a campaign, and the host of its pictures."""

    kafka: EmbeddedKafka
    postgres: EmbeddedPostgres
    s3: EmbeddedS3
    host: PictureHost

    def pause_kafka(self) -> None:
        """Pause Kafka until the next `strike` has happened."""
        assert self.kafka.pid is not None
        os.kill(self.kafka.pid, signal.SIGSTOP)

    async def restart_kafka(self) -> None:
        await asyncio.to_thread(self.kafka.kill)
        self.kafka.start(RECOVERY_S)  # in this thread, since the server dies with the thread that starts it

    async def restart_postgres(self, campaign: Campaign) -> None:
        """Kill and restart PostgreSQL. Running jobs may be repeated, as their results are lost."""
        await campaign.fleet.count_all_again()
        await asyncio.to_thread(self.postgres.kill)
        self.postgres.start(RECOVERY_S)

        async def is_connected() -> bool:
            """Use all connections of the pool at once, since old ones are dead."""
            used = [campaign.rows("SELECT pg_sleep(0.05)") for _ in range(4)]
            return not any(isinstance(each, Exception) for each in await asyncio.gather(*used, return_exceptions=True))

        await until(is_connected, within_s=RECOVERY_S)

    async def restart_s3(self, campaign: Campaign) -> None:
        """Kill S3, and start it a while later. Pictures downloaded meanwhile are lost and may be downloaded again."""
        await campaign.fleet.count_all_again()
        began = len(self.host.requests)
        await asyncio.to_thread(self.s3.kill)
        await asyncio.sleep(0.5)
        self.s3.start(RECOVERY_S)
        campaign.fleet.again.update(self.host.url(path) for _, path in self.host.requests[began:])


async def strike(
    campaign: Campaign, kafka: EmbeddedKafka, rng: random.Random, *, is_silent: bool, spared: int | None
) -> None:
    """Kill every process within a second, in any order, and start another one for each.

    With `is_silent`, Kafka is paused before, at the beginning of the work: consumers continue with the records that
    they have, and messages that they send without waiting are lost.
    """
    fleet = campaign.fleet
    assert kafka.pid is not None
    await asyncio.sleep(rng.uniform(0.0, 0.1 if is_silent else 1.5))  # so that the kills come at any moment
    if is_silent:
        os.kill(kafka.pid, signal.SIGSTOP)
        await asyncio.sleep(rng.uniform(0.2, 0.6))
    try:
        for pid in rng.sample(sorted(fleet.alive), len(fleet.alive)):
            if pid != spared:
                group = fleet.alive[pid]
                await fleet.kill(pid)
                await fleet.start(group)
                await asyncio.sleep(rng.uniform(0.0, 0.1))
    finally:
        if is_silent:
            os.kill(kafka.pid, signal.SIGCONT)


@dataclass(frozen=True)
class AtWork:
    """A process with unhandled records, and the database session in which it is about to move their positions."""

    pid: int
    backend: int


@asynccontextmanager
async def held_at_work(campaign: Campaign, group: str) -> AsyncIterator[Callable[[], Awaitable[AtWork]]]:
    """Block processes of a group that have read records, until the block ends; yield a function that finds one."""
    found: list[AtWork] = []
    async with campaign.database.transaction() as tx, campaign.database.connection() as connection:
        await tx.execute(_LOCK, [READERS[group]])

        async def is_found() -> bool:
            for backend, port in await (await connection.execute(_BEHIND, [tx.info.backend_pid])).fetchall():
                if (pid := campaign.fleet.of_port(port, group)) is not None:
                    found.append(AtWork(pid, backend))
                    return True
            return False

        async def find() -> AtWork:
            await until(is_found, within_s=RECOVERY_S)
            return found[0]

        yield find


async def end_transaction(campaign: Campaign, stopped: AtWork) -> None:
    """End the transaction of a stopped process, as the server's timeout would.

    The process does not notice it, and does not know yet that its positions were moved.
    """

    async def is_ended() -> bool:
        return bool(await campaign.rows(_END.format(backend=stopped.backend)))

    await until(is_ended, within_s=RECOVERY_S)


async def check_that_late_work_changes_nothing(campaign: Campaign, servers: Servers, pid: int) -> int:
    """Resume a process whose work others have done, until it has partitions again; check that it has changed nothing.

    Returns:
        Number of events that it sent too late.
    """
    group = READERS[campaign.fleet.alive[pid]]
    await until(campaign.is_quiet, within_s=RECOVERY_S)

    async def seen() -> dict[str, Any]:
        return {
            "tables": await campaign.rows(_STATE),
            "downloads": sorted(path for _, path in servers.host.requests),
            "results": {
                (each.reference, each.info.group_id, each.info.name, each.attempt) for each in campaign.results
            },
        }

    async def has_members(count: int) -> bool:
        return await asyncio.to_thread(_members, servers.kafka, group) == count

    alive = [*campaign.fleet.alive.values()].count(campaign.fleet.alive[pid])
    await until(lambda: has_members(alive - 1), within_s=RECOVERY_S)
    before, sent = await seen(), await campaign.count_events()
    campaign.fleet.resume(pid)
    await until(lambda: has_members(alive), within_s=RECOVERY_S)
    await until(campaign.is_quiet, within_s=RECOVERY_S)
    after = await seen()
    changes = {name: [each for each in found if each not in before[name]] for name, found in after.items()}
    assert after == before, f"late work has changed: {changes}"
    return await campaign.count_events() - sent


def _members(kafka: EmbeddedKafka, group: str) -> int:
    """Return how many members of a stable group have partitions; -1 if it is not stable."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    described = admin.describe_consumer_groups([group], request_timeout=10)[group].result()
    if described.state != ConsumerGroupState.STABLE:
        return -1
    return sum(bool(each.assignment.topic_partitions) for each in described.members)
