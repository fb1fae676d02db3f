"""Recipients share the concurrent downloads for any number of hosts; a slow host holds few of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.parts.tuning import Tuning

from ..campaign import Campaign
from ..campaign_start import make_campaign
from ..fleet import DOWNLOADER
from .web import HEALTHY, many_hosts

Begin = Callable[..., AbstractAsyncContextManager[Campaign]]
pytestmark = [pytest.mark.kafka, pytest.mark.slow]
_TUNING = Tuning(relay_lease_s=2, session_s=3)


@pytest.fixture
def begin(migrated_database: MigratedDatabase, kafka: EmbeddedKafka, s3: EmbeddedS3) -> Begin:
    """Return a campaign with these settings, in which no process downloads yet."""

    @asynccontextmanager
    async def begin(**changes: str) -> AsyncIterator[Campaign]:
        database = await migrated_database("classifeed_pictures")
        async with make_campaign(database, kafka, s3, tuning=_TUNING, LOOK_AGAIN_S="86400", **changes) as campaign:
            for group in ("reshard", "process"):
                await campaign.fleet.start(group)
            yield campaign

    return begin


def waiting(campaign: Campaign, recipient: str) -> Callable[[], Awaitable[int]]:
    """Return a function that counts the requests of a recipient without a picture."""

    async def count() -> int:
        query = f"SELECT count(*) FROM requests_in_flight WHERE recipient = '{recipient}'"
        [(found,)] = await campaign.rows(query)
        return int(found)

    return count


async def are_ordered(campaign: Campaign, requests: int) -> bool:
    """Return whether this number of requests has been read and ordered."""
    in_flight = await campaign.rows("SELECT count(*) FROM requests_in_flight")
    return in_flight == [(requests,)] and await campaign.rows("SELECT FROM outbox") == []


@in_campaigns
async def test_a_recipient_with_many_hosts_has_one_share(begin: Begin) -> None:
    hosts, of_each = 60, 5
    async with begin(DOWNLOADS="8") as campaign, many_hosts([HEALTHY] * (hosts + 1)) as web:
        large, small = waiting(campaign, "large"), waiting(campaign, "small")
        many = [web.url(number, f"/{count}.jpg") for count in range(of_each) for number in range(hosts)]
        await campaign.request({str(at): (url, "offers") for at, url in enumerate(many)}, recipient="large")
        few = [web.url(hosts, f"/{count}.jpg") for count in range(of_each)]
        await campaign.request({str(at): (url, "offers") for at, url in enumerate(few)}, recipient="small")
        await until(lambda: are_ordered(campaign, len(many) + len(few)))
        await campaign.fleet.start(DOWNLOADER)

        async def is_small_done() -> bool:
            return await small() == 0

        await until(is_small_done)
        # If hosts shared the downloads, one of 61 hosts would get its last picture when all others do.
        assert await large() > len(many) / 2


async def test_a_slow_host_holds_few_downloads(begin: Begin) -> None:
    slow, fast = 40, 10
    async with begin(DOWNLOADS="32", DOWNLOADS_PER_HOST="1") as campaign, many_hosts(["silent", HEALTHY]) as web:
        urls = [web.url(0, f"/{count}.jpg") for count in range(slow)]
        urls += [web.url(1, f"/{count}.jpg") for count in range(fast)]
        await campaign.request({str(at): (url, "offers") for at, url in enumerate(urls)}, recipient="one")
        await until(lambda: are_ordered(campaign, slow + fast))
        await campaign.fleet.start(DOWNLOADER)
        one = waiting(campaign, "one")
        most = 0

        async def are_fast_done() -> bool:
            nonlocal most
            query = "SELECT count(*) FROM dl_jobs WHERE queue = 'pictures.download' AND status = 'running'"
            [(running,)] = await campaign.rows(f"{query} AND lock_key LIKE '%/127.1.0.1/%'")
            most = max(most, running)
            return await one() == slow

        await until(are_fast_done)
        assert 1 <= most <= 2  # two places for each download at a time
