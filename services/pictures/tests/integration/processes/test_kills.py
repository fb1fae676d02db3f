"""Processes are killed repeatedly, or stopped past their sessions: every request gets its result.

No picture is lost, downloaded without need, or left over. S3, Kafka and PostgreSQL are restarted in between. A
resharder and a processor are stopped in the middle of their work, and resumed when others have done it. Comparisons run
all the time: they delete pictures that only offers requested and no offer uses, and keep those of other recipients.

1,000 requests for 100 URLs and 12 SIGKILLs; 10,000 and 200 with CLASSIFEED_CAMPAIGN=long.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

import pytest

from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.parts.tuning import Tuning

from ..campaign import Campaign, sweeping
from ..campaign_start import make_campaign
from ..fleet import PROCESSOR, RESHARDER, role_groups
from ..picture_host import PictureHost, jpeg
from ..states.offers_server import Offers, served
from .outages import RECOVERY_S, Servers, check_that_late_work_changes_nothing, end_transaction, held_at_work, strike
from .uploads import uploading

_SEED = int(os.environ.get("CLASSIFEED_SEED", "20261124"))
_REQUESTS, _URLS = 10_000 if IS_LONG else 1_000, 100
_OF_EACH_GROUP = 2
_STRIKES = 23 if IS_LONG else 2
_KILLS, _KILLS_OF_EACH_GROUP = (200, 30) if IS_LONG else (12, 2)  # some are spared, as they are stopped
_STOPPED = {1: RESHARDER, 3: PROCESSOR}  # by the number of the strike modulo 4
_CHANGES = {"COMPARE_S": "1", "DELETE_AFTER_S": "1"}
_TUNING = Tuning(relay_lease_s=2, session_s=3, poll_records=100, held_least=1000)
_SIZES = (10, 30, 100)
_NAMESPACES = ("offers", "shops")
pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(7200 if IS_LONG else 1200)]


@pytest.fixture
def servers(kafka: EmbeddedKafka, postgres: EmbeddedPostgres, s3: EmbeddedS3, host: PictureHost) -> Servers:
    return Servers(kafka, postgres, s3, host)


@pytest.fixture
async def campaign(migrated_database: MigratedDatabase, servers: Servers) -> AsyncIterator[Campaign]:
    database = await migrated_database("classifeed_pictures")
    async with (
        served(Offers()) as offers,
        make_campaign(
            database, servers.kafka, servers.s3, tuning=_TUNING, OFFERS_ADDRESS=offers, **_CHANGES
        ) as campaign,
    ):
        yield campaign


async def test_every_request_gets_its_result_whatever_dies(
    campaign: Campaign, servers: Servers, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(_SEED)
    fleet, host = campaign.fleet, servers.host
    for group in [*role_groups()] * _OF_EACH_GROUP:
        await fleet.start(group)
    urls = [host.put(f"/{number}.jpg", jpeg(number, width=320, height=240)) for number in range(_URLS)]
    wanted: dict[str, tuple[str, str]] = {}
    late_events = 0
    async with sweeping(campaign), uploading(fleet, rng) as uploader:
        for number in range(_STRIKES + 1):
            new = draw_requests(rng, urls, range(len(wanted), _REQUESTS * (number + 1) // (_STRIKES + 1)))
            wanted |= new
            # Not if a process is held at work, since all stored rows are compared after its late work.
            unused = (
                {} if number % 4 else {f"u{number}": (host.put(f"/unused-{number}.jpg", jpeg(number)), _NAMESPACES[0])}
            )
            await campaign.request_unused(unused)
            size = rng.choice(_SIZES)
            idle = _STOPPED.get(number % 4) if number < _STRIKES else None
            stopped: int | None = None
            if number % 4 == 0 and number < _STRIKES:
                # Killed below with events that Kafka has not received.
                async with held_at_work(campaign, RESHARDER) as find:
                    await campaign.request(new, in_a_message=size)
                    await find()
                    servers.pause_kafka()
            elif idle is not None:
                # A request that is repeated after its picture was deleted would be a new one.
                async with held_at_work(campaign, idle) as find:
                    await campaign.request(new, in_a_message=size)
                    at_work = await find()
                    await fleet.stop(stopped := at_work.pid)
                await end_transaction(campaign, at_work)
            else:
                await campaign.request(new, in_a_message=size)
            if IS_LONG and number % 4 == 2:
                await fleet.stop(stopped := rng.choice(sorted(fleet.alive)))
            if number < _STRIKES:
                await strike(campaign, servers.kafka, rng, is_silent=number % 2 == 0, spared=stopped)
            await campaign.request_and_delete(host.put(f"/gone-{number}.jpg", jpeg(1000 + number)), _NAMESPACES)
            if number % 4 == 0:
                await servers.restart_s3(campaign)
            if number % 4 == 2:
                await servers.restart_kafka()
                await servers.restart_postgres(campaign)
            # A stopped process had partitions; if all requests have results, another process has taken these over.
            await campaign.wait_for(wanted, within_s=RECOVERY_S)
            await campaign.wait_for_deletions(unused, within_s=RECOVERY_S)
            assert "Z" not in {state for _, state in fleet.states()}, "a process has ended without a kill"
            if idle is not None and stopped is not None:
                late_events += await check_that_late_work_changes_nothing(campaign, servers, stopped)
            elif stopped is not None:
                fleet.resume(stopped)
    await until(campaign.is_quiet, within_s=RECOVERY_S)
    uploads = f"{len(uploader.written)} uploads with {uploader.refused} calls refused"
    record_property("figure", f"kills: {dict(fleet.kills)}; {uploads}; {late_events} events sent too late")
    check_results(campaign, wanted)
    check_downloads(campaign, host, urls)
    await campaign.check_pictures()
    await check_kept(campaign, wanted)
    assert fleet.kills.total() >= _KILLS
    assert all(fleet.kills[group] >= _KILLS_OF_EACH_GROUP for group in role_groups())


def draw_requests(rng: random.Random, urls: list[str], references: range) -> dict[str, tuple[str, str]]:
    """Return requests by reference for all URLs so far, mostly for the newest, with both namespaces mixed."""
    known = urls[: -(-len(urls) * references.stop // _REQUESTS)]
    new = {
        str(reference): (known[-1 - min(int(rng.expovariate(0.3)), len(known) - 1)], rng.choice(_NAMESPACES))
        for reference in references
    }
    return new | {reference: (url, new[reference][1]) for reference, url in zip(list(new), known, strict=False)}


def check_results(campaign: Campaign, wanted: dict[str, tuple[str, str]]) -> None:
    """Check that the results of a request are those of one picture, with growing attempts."""
    found = defaultdict(list)
    for result in campaign.results:
        found[result.reference].append(result)
    assert found.keys() == wanted.keys()
    for reference, results in found.items():
        assert {(each.url, each.namespace) for each in results} == {wanted[reference]}
        assert len({(each.info.group_id, each.info.name) for each in results if each.HasField("info")}) == 1
        attempts = list(dict.fromkeys(each.attempt for each in results))  # a killed relay sends some again
        assert attempts == sorted(attempts)


async def check_kept(campaign: Campaign, wanted: dict[str, tuple[str, str]]) -> None:
    """Check that comparisons have kept all pictures with another recipient than offers, and no unused ones."""
    rows = await campaign.rows("SELECT p.url, s.namespace FROM stored_pictures s JOIN pictures p USING (url_hash)")
    kept = {(url, namespace) for url, namespace in rows}
    assert kept >= set(wanted.values())
    assert [url for url, _ in kept if "/unused-" in url] == []
    [(comparisons,)] = await campaign.rows("SELECT count(*) FROM comparisons WHERE state = 'DONE'")
    assert comparisons > 2


def check_downloads(campaign: Campaign, host: PictureHost, urls: list[str]) -> None:
    """Check that each URL was downloaded once, plus at most once per kill or stop of its downloader.

    A process that died may have received bytes without reporting them, so the next one must download them again.
    """
    path: Callable[[str], str] = lambda url: "/" + url.rsplit("/", 1)[1]  # noqa: E731
    counts = {url: host.count(path(url)) for url in urls}
    assert {url: count for url, count in counts.items() if not 1 <= count <= 1 + campaign.fleet.again[url]} == {}
