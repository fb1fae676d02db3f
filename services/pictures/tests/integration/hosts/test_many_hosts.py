"""Many hosts, a tenth of them hostile, and two downloaders: limits are kept, and healthy hosts are not delayed.

By default 40 hosts for some seconds. With CLASSIFEED_CAMPAIGN=long, 1,000 hosts in rounds with and without the hostile
ones; then the speed of the healthy ones is printed.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import AsyncIterator

import pytest

from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.parts.tuning import Tuning

from ..campaign import Campaign
from ..campaign_start import make_campaign
from ..fleet import DOWNLOADER
from .checks import busiest_seconds, most_under_way, note_pauses, read_pauses, requests_in_pauses, times_of, unheard
from .web import ASKS_TO_WAIT, HEALTHY, HOSTILE, Web, many_hosts

_HOSTS, _HOSTILE, _ROUNDS = (1_000, 100, 2) if IS_LONG else (40, len(HOSTILE), 1)
_OF_HEALTHY, _OF_HOSTILE = 4, 4 if IS_LONG else 3
_RATE = 2
_AT_A_TIME = 2
_ROUND_S = 900.0
_TUNING = Tuning(download_total_s=20 if IS_LONG else 10)
pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(7200 if IS_LONG else 600)]


@pytest.fixture
async def campaign(
    migrated_database: MigratedDatabase, kafka: EmbeddedKafka, s3: EmbeddedS3
) -> AsyncIterator[Campaign]:
    database = await migrated_database("classifeed_pictures")
    await note_pauses(database)
    changes = {
        "HOST_FIRST_RATE": str(_RATE),
        "HOST_HIGHEST_RATE": str(_RATE),
        "DOWNLOADS_PER_HOST": str(_AT_A_TIME),
        "DOWNLOAD_MAX_BYTES": str(1 << 20),
        "LOOK_AGAIN_S": "86400",  # no round retries failed pictures
    }
    async with make_campaign(database, kafka, s3, tuning=_TUNING, **changes) as campaign:
        for group in ("reshard", "process", DOWNLOADER, DOWNLOADER):
            await campaign.fleet.start(group)
        yield campaign


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    kinds = [HEALTHY] * (_HOSTS - _HOSTILE) + [HOSTILE[number % len(HOSTILE)] for number in range(_HOSTILE)]
    async with many_hosts(kinds) as web:
        yield web


async def run_round(campaign: Campaign, web: Web, name: str, hosts: list[int]) -> float:
    """Request pictures of these hosts, wait until all are finished, and return the healthy ones per second.

    Raises:
        AssertionError: a picture of a healthy host is missing.
    """
    wanted = {
        f"{name}-{number}-{at}": (web.url(number, f"/{name}/{at}.jpg"), "offers")
        for at in range(_OF_HEALTHY)
        for number in hosts
        if at < _OF_HOSTILE or web.kinds[number] == HEALTHY
    }
    healthy = [key for key, (url, _) in wanted.items() if web.kinds[int(key.split("-")[1])] == HEALTHY]
    began_s = time.monotonic()
    await campaign.request(wanted)
    await campaign.wait_for(healthy, within_s=_ROUND_S)
    passed_s = time.monotonic() - began_s

    async def is_over() -> bool:
        return await campaign.rows("SELECT count(*) FROM dl_jobs WHERE queue = 'pictures.download'") == [(0,)]

    await until(is_over, within_s=_ROUND_S)
    return len(healthy) / passed_s


async def test_each_host_is_asked_as_it_may_be_and_hostile_ones_harm_no_other(campaign: Campaign, web: Web) -> None:
    everybody = list(range(_HOSTS))
    healthy = [number for number in everybody if web.kinds[number] == HEALTHY]
    await run_round(campaign, web, "first", healthy[:20])  # all parts are started and opened
    speeds: dict[str, list[float]] = {"alone": [], "beside": []}
    for at in range(_ROUNDS):
        for name, hosts in (("alone", healthy), ("beside", everybody)) if IS_LONG else (("beside", everybody),):
            speeds[name].append(await run_round(campaign, web, f"{name}{at}", hosts))
            await campaign.rows("DELETE FROM fetch_hosts RETURNING 1")  # each round has new hosts
    seen, pauses = await web.read(), await read_pauses(campaign.database)
    assert len({each.host for each in seen}) == _HOSTS
    assert max(most_under_way(seen).values()) == _AT_A_TIME
    assert max(busiest_seconds(seen).values()) == _RATE
    assert requests_in_pauses(seen, pauses) == []
    assert unheard(seen, pauses) == []
    times = times_of(seen)
    assert all(len(times[host]) > 1 and pauses[host] for host in web.hosts(*ASKS_TO_WAIT))
    if IS_LONG:
        medians = {name: statistics.median(found) for name, found in speeds.items()}
        shares = [beside / alone for alone, beside in zip(*speeds.values(), strict=True)]
        print(json.dumps({"pictures_s": speeds, "medians": medians, "share": statistics.median(shares)}))  # noqa: T201
