"""Processes that are killed again and again, or stopped past their sessions: every request gets its result.

No picture is lost, downloaded without need, or left over.

240 requests for 16 URLs and 16 SIGKILLs; 10,000 for 100 and 200, with restarts, with CLASSIFEED_CAMPAIGN=long.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

import pytest
from psycopg.conninfo import make_conninfo

from classifeed_common.db import Database
from classifeed_common.embedded.kafka import EmbeddedKafka
from classifeed_common.embedded.postgres import EmbeddedPostgres
from classifeed_common.embedded.s3 import EmbeddedS3
from classifeed_common.testing.campaigns import IS_LONG
from classifeed_common.testing.databases import MigratedDatabase
from classifeed_common.testing.recovery import until

from .campaign import Campaign, make_campaign, sweeping
from .fleet import Fleet, role_groups
from .picture_host import PictureHost, jpeg

_SEED = int(os.environ.get("CLASSIFEED_SEED", "20261124"))
_REQUESTS, _URLS, _KILLS = (10_000, 100, 200) if IS_LONG else (240, 16, 16)
_OF_EACH_GROUP = 2
_NAMESPACES = ("offers", "shops")
_RECOVERY_S = 300.0
pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(7200 if IS_LONG else 1200)]


@pytest.fixture
async def durable_database(migrated_database: MigratedDatabase) -> AsyncIterator[Database]:
    """Yield a database whose commits outlive a killed server; the others respond before they have written."""
    made = await migrated_database("classifeed_pictures")
    dsn = make_conninfo(made.dsn, options="-c synchronous_commit=on")
    database = Database(dsn, schema="pictures", application_name="durable")
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def campaign(durable_database: Database, kafka: EmbeddedKafka, s3: EmbeddedS3) -> AsyncIterator[Campaign]:
    async with make_campaign(durable_database, kafka, s3) as campaign:
        yield campaign


async def strike(
    fleet: Fleet, kafka: EmbeddedKafka, rng: random.Random, *, is_silent: bool, spared: int | None
) -> None:
    """Kill every process within a second, in any order, and start another one for each.

    With `is_silent` Kafka stands still before, at the beginning of the work: whoever reads goes on with the records
    that it has, and what it sends and does not wait for is lost with it.
    """
    assert kafka.pid is not None
    await asyncio.sleep(rng.uniform(0.0, 0.1 if is_silent else 1.5))  # so that the blow falls at any moment
    if is_silent:
        os.kill(kafka.pid, signal.SIGSTOP)
        await asyncio.sleep(rng.uniform(0.1, 0.5))
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


async def test_every_request_gets_its_result_whatever_dies(
    campaign: Campaign, host: PictureHost, kafka: EmbeddedKafka, postgres: EmbeddedPostgres
) -> None:
    rng = random.Random(_SEED)
    fleet = campaign.fleet
    for group in [*role_groups()] * _OF_EACH_GROUP:
        await fleet.start(group)
    strikes = -(-_KILLS // len(fleet.alive))
    urls = [host.put(f"/{number}.jpg", jpeg(number, width=320, height=240)) for number in range(_URLS)]
    wanted: dict[str, tuple[str, str]] = {}
    stopped: int | None = None
    async with sweeping(campaign):
        for number in range(strikes + 1):
            known = urls[: -(-_URLS * (number + 1) // (strikes + 1))]
            upto = _REQUESTS * (number + 1) // (strikes + 1)
            # Those that are new are requested most, from both namespaces at once.
            new = {
                str(reference): (known[-1 - min(int(rng.expovariate(0.3)), len(known) - 1)], rng.choice(_NAMESPACES))
                for reference in range(len(wanted), upto)
            }
            new |= {reference: (url, new[reference][1]) for reference, url in zip(list(new), known, strict=False)}
            wanted |= new
            await campaign.request_and_delete(host.put(f"/gone-{number}.jpg", jpeg(1000 + number)), _NAMESPACES)
            await campaign.request(new)
            if stopped is None and number % 5 == 1:
                stopped = rng.choice(sorted(fleet.alive))
                await fleet.stop(stopped)
            if number < strikes:
                await strike(fleet, kafka, rng, is_silent=number % 2 == 0, spared=stopped)
            if IS_LONG and number == strikes // 3:
                await asyncio.to_thread(kafka.kill)
                kafka.start(_RECOVERY_S)  # in this thread: the server is bound to the life of the one that starts it
            if IS_LONG and number == strikes * 2 // 3:
                await fleet.count_all_again()
                await asyncio.to_thread(postgres.kill)
                postgres.start(_RECOVERY_S)
            # A process that stands still has partitions: that all have their results means that they went to another.
            await campaign.wait_for(wanted, within_s=_RECOVERY_S)
            if stopped is not None:
                fleet.resume(stopped)
                stopped = None
        await until(campaign.is_quiet, within_s=_RECOVERY_S)
    assert sum(fleet.kills.values()) >= _KILLS - strikes
    check_results(campaign, wanted)
    check_downloads(campaign, host, urls)
    await campaign.check_pictures()


def check_results(campaign: Campaign, wanted: dict[str, tuple[str, str]]) -> None:
    """Check that results of a request are those of one picture, of attempts that only grow."""
    found = defaultdict(list)
    for result in campaign.results:
        found[result.reference].append(result)
    assert found.keys() == wanted.keys()
    for reference, results in found.items():
        assert {(each.url, each.namespace) for each in results} == {wanted[reference]}
        assert len({(each.info.group_id, each.info.name) for each in results if each.HasField("info")}) == 1
        attempts = list(dict.fromkeys(each.attempt for each in results))  # a relay that was killed sends some again
        assert attempts == sorted(attempts)


def check_downloads(campaign: Campaign, host: PictureHost, urls: list[str]) -> None:
    """Check that each URL was downloaded once, and once more for each time that its downloader was struck meanwhile.

    Nobody can know whether bytes arrived of which a process has said nothing before it died: so the next one must ask.
    """
    path: Callable[[str], str] = lambda url: "/" + url.rsplit("/", 1)[1]  # noqa: E731
    counts = {url: host.count(path(url)) for url in urls}
    assert {url: count for url, count in counts.items() if not 1 <= count <= 1 + campaign.fleet.again[url]} == {}
