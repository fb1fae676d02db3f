"""Comparisons with the URLs that offers use: marks, deletions, held comparisons, and exports that are cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from classifeed.jobs.v1.job_service_pb2 import TriggerJobRequest
from classifeed.pictures.v1.events_pb2 import DELETE_REASON_GIVEN_UP, DeletePicture
from classifeed.pictures.v1.picture_service_pb2 import (
    COMPARISON_STATE_HELD,
    Comparison,
    ConfirmComparisonRequest,
    ListComparisonsRequest,
)
from classifeed.pictures.v1.requests_pb2 import PictureNotice, PictureNotices
from classifeed_common.db import Database
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import message_of
from classifeed_common.outbox import Outbox
from classifeed_devkit.testing.recovery import until
from classifeed_domain.topics import PICTURES_REQUESTS
from classifeed_pictures.app.states.compare_pictures import ComparePictures
from classifeed_pictures.clients.offers import OffersClient
from classifeed_pictures.domain.lifecycle.events import Request
from classifeed_pictures.domain.urls.canonical import CanonicalRules, url_hash
from classifeed_pictures.jobs.compare import TASK as COMPARE
from classifeed_pictures.parts.tuning import Tuning
from classifeed_pictures.store.events.canonical_rules import note_rules
from classifeed_pictures.store.states.settled import add_settled

from ..backup_runs import ended
from ..conftest import Service
from ..picture_host import PictureHost, jpeg
from .offers_server import Offers, served

RULES = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": []})


@pytest.fixture
async def offers() -> AsyncIterator[tuple[Offers, str]]:
    servicer = Offers()
    async with served(servicer) as address:
        yield servicer, address


class Run:
    """The context of a job, without a worker."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.checkpoint: Any = None

    def guarded_transaction(self) -> Any:
        return self.database.transaction()

    async def save_checkpoint(self, _tx: Any, checkpoint: Any) -> None:
        self.checkpoint = checkpoint

    def raise_if_stopped(self) -> None:
        pass


@dataclass
class Comparing:
    """States in real tables, and comparisons of them."""

    database: Database
    comparer: ComparePictures

    async def put(self, urls: Sequence[str], *, is_put: bool = False, age: timedelta = timedelta(days=1)) -> None:
        async with self.database.transaction() as tx:
            for url in urls:
                await tx.execute(
                    "INSERT INTO pictures (url_hash, url, is_put, requested_at, holdings) VALUES (%s, %s, %s, %s, '')",
                    (url_hash(url), url, is_put, datetime.now(UTC) - age),
                )

    async def hold(self, urls: Sequence[str], namespace: str, recipients: Sequence[tuple[str, str]]) -> None:
        """Have a namespace keep pictures that recipients with clients have requested."""
        await self.put(urls)
        async with self.database.transaction() as tx:
            for url in urls:
                stored = "INSERT INTO stored_pictures VALUES (%s, 1, %s, %s, 1, '', 1, 1, '', '[]')"
                await tx.execute(stored, (namespace, url, url_hash(url)))
                await add_settled(
                    tx,
                    [
                        (url_hash(url), Request(namespace, recipient, "n/1", url, datetime.now(UTC), client))
                        for recipient, client in recipients
                    ],
                )

    async def compare(self) -> str:
        """Run a comparison to its end, and return its state."""
        run: Any = Run(self.database)
        async for _ in self.comparer(run, None):
            pass
        [(state,)] = await self.rows("SELECT state FROM comparisons ORDER BY comparison_id DESC LIMIT 1")
        return str(state)

    async def noticed(self) -> set[str]:
        """Remove and return the URLs of the notices that were sent."""
        rows = await self.rows("DELETE FROM outbox RETURNING value")
        notices = [notice for (value,) in rows for notice in PictureNotices.FromString(value).notices]
        assert all(notice.exact for notice in notices), "the rules in force may make another key of it"
        return {notice.url for notice in notices}

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        async with self.database.transaction() as tx:
            return await (await tx.execute(query)).fetchall()


def _urls(count: int, word: str = "p") -> list[str]:
    return [f"https://shop.example/{word}{number}.jpg" for number in range(count)]


@pytest.fixture
async def comparing(
    migrated_database: Callable[[str], Awaitable[Database]], offers: tuple[Offers, str]
) -> AsyncIterator[Comparing]:
    database = await migrated_database("classifeed_pictures")
    async with grpc.aio.insecure_channel(offers[1]) as channel:
        comparer = ComparePictures(OffersClient(channel), Outbox(), lambda: RULES, held_share=0.2, held_least=5)
        yield Comparing(database, comparer)


async def test_what_no_offer_uses_is_noticed_and_nothing_else(comparing: Comparing, offers: tuple[Offers, str]) -> None:
    used, unused = _urls(2500), _urls(300, "u")
    await comparing.put([*used, *unused])
    await comparing.put(_urls(3, "put"), is_put=True)
    await comparing.put(_urls(3, "new"), age=timedelta(seconds=-60))
    # URLs as offers have them, not in canonical form.
    offers[0].urls = [url.replace("https://shop", "HTTPS://Shop") for url in used] + used[:10]
    assert await comparing.compare() == "DONE"
    assert await comparing.noticed() == set(unused)
    assert await comparing.rows("SELECT compared, unused FROM comparisons") == [(2803, 300)]
    assert await comparing.rows("SELECT count(*) FROM used_urls") == [(0,)]


async def test_what_others_than_offers_have_requested_is_not_compared(comparing: Comparing) -> None:
    offers, others, both, unknown, waiting = (_urls(2, word) for word in ("o", "x", "b", "n", "w"))
    await comparing.hold(offers, "offers", [("seller", "offers"), ("seller-2", "offers")])
    await comparing.hold(others, "banners", [("banners", "")])
    await comparing.hold(both, "offers", [("seller", "offers"), ("banners", "")])
    await comparing.hold(unknown, "offers", [])
    await comparing.put(waiting)
    await comparing.rows(
        "INSERT INTO requests_in_flight (url_hash, namespace, recipient, reference, requested_url, requested_at) "
        f"SELECT url_hash, 'banners', 'banners', '', url, now() FROM pictures WHERE url = '{waiting[0]}' RETURNING 1"
    )
    assert await comparing.compare() == "DONE"
    assert await comparing.noticed() == {*offers, waiting[1]}
    assert await comparing.rows("SELECT compared, unused FROM comparisons") == [(3, 3)]


async def test_a_request_from_before_clients_gets_its_client_when_it_comes_again(comparing: Comparing) -> None:
    [url] = urls = _urls(1)
    await comparing.hold(urls, "offers", [("seller", "")])
    await comparing.compare()
    assert await comparing.noticed() == set()
    async with comparing.database.transaction() as tx:
        again = Request("offers", "seller", "n/1", url, datetime.now(UTC), "offers")
        await add_settled(tx, [(url_hash(url), again)])
    await comparing.compare()
    assert await comparing.noticed() == {url}


async def test_keys_of_older_rules_count_as_used(comparing: Comparing, offers: tuple[Offers, str]) -> None:
    strict = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": ["ref"]})
    async with comparing.database.transaction() as tx:
        for rules in (RULES, strict, RULES):  # the old rules are in force again
            await note_rules(tx, rules, settle_s=0)
    links = [f"{url}?ref=a" for url in _urls(10)]
    await comparing.put([*links, *_urls(10), *_urls(3, "u")])
    offers[0].urls = links
    assert await comparing.compare() == "DONE"
    assert await comparing.noticed() == set(_urls(3, "u"))


@pytest.mark.parametrize("fault", ["cut", "count", "digest"])
async def test_an_export_that_is_not_whole_deletes_nothing(
    comparing: Comparing, offers: tuple[Offers, str], fault: str
) -> None:
    await comparing.put(_urls(10))
    offers[0].urls = _urls(9)
    offers[0].is_cut = fault == "cut"
    offers[0].wrong_count = int(fault == "count")
    offers[0].is_altered = fault == "digest"
    with pytest.raises(Unavailable, match="incomplete"):
        await comparing.compare()
    assert await comparing.noticed() == set()


async def test_too_much_is_held_until_somebody_says_yes(comparing: Comparing, offers: tuple[Offers, str]) -> None:
    await comparing.put(_urls(100))
    offers[0].urls = _urls(70)
    assert await comparing.compare() == "HELD"
    assert await comparing.noticed() == set()
    [(comparison_id,)] = await comparing.rows(
        "UPDATE comparisons SET state = 'RUNNING', is_confirmed = true RETURNING comparison_id"
    )
    run: Any = Run(comparing.database)
    async for _ in comparing.comparer(run, comparison_id):
        pass
    assert await comparing.noticed() == set(_urls(100)[70:])
    assert offers[0].exports == 1


async def test_a_newer_comparison_takes_the_place_of_a_held_one(
    comparing: Comparing, offers: tuple[Offers, str]
) -> None:
    await comparing.put(_urls(100))
    assert await comparing.compare() == "HELD"
    offers[0].urls = _urls(99)
    assert await comparing.compare() == "DONE"
    states = await comparing.rows("SELECT state FROM comparisons ORDER BY comparison_id")
    assert states == [("SUPERSEDED",), ("DONE",)]
    assert await comparing.noticed() == set(_urls(100)[99:])


async def test_a_run_that_dies_goes_on_where_it_was(comparing: Comparing, offers: tuple[Offers, str]) -> None:
    used, unused = _urls(2500), _urls(200, "u")
    await comparing.put([*used, *unused])
    offers[0].urls = used
    run: Any = Run(comparing.database)
    found: set[str] = set()
    steps = 0
    is_over = False
    while not is_over:
        steps += 1
        progress = comparing.comparer(run, None)
        is_over = await anext(progress, None) is None  # each run dies after its first step
        await progress.aclose()  # type: ignore[attr-defined]
        found |= await comparing.noticed()
    assert steps > 6
    assert found == set(unused)
    assert offers[0].exports == 1
    assert await comparing.rows("SELECT state, compared, unused FROM comparisons") == [("DONE", 2700, 200)]


@pytest.fixture
def options(offers: tuple[Offers, str]) -> dict[str, Any]:
    return {"offers_address": offers[1], "compare_s": 1, "delete_after_s": 1}


@pytest.fixture
def tuning() -> Tuning:
    return Tuning(held_least=0, held_share=0.6)


async def test_pictures_go_after_two_comparisons_and_mass_deletions_wait(
    service: Service, host: PictureHost, offers: tuple[Offers, str]
) -> None:
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(4)]
    offers[0].urls = urls
    await service.request(urls)
    await service.results(4)
    offers[0].urls = urls[:2]

    async def stored() -> int:
        [(count,)] = await service.rows("SELECT count(*) FROM stored_pictures")
        return int(count)

    async def are_two_left() -> bool:
        return await stored() == 2

    await until(are_two_left)
    offers[0].urls = []
    held: list[Comparison] = []

    async def is_held() -> bool:  # the next comparison supersedes a held one within a second
        response = await service.pictures.ListComparisons(ListComparisonsRequest())
        held.extend(each for each in response.comparisons if each.state == COMPARISON_STATE_HELD)
        return bool(held)

    await until(is_held)
    assert await stored() == 2
    assert (held[0].compared, held[0].unused) == (2, 2)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await service.pictures.ConfirmComparison(ConfirmComparisonRequest(comparison_id=1))
    assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION


class TestOfOthers:
    @pytest.fixture
    def options(self, offers: tuple[Offers, str]) -> dict[str, Any]:
        return {
            "offers_address": offers[1],
            "compare_s": 1,
            "delete_after_s": 1,
            "refresh_days": 0,
        }

    @pytest.fixture
    def tuning(self) -> Tuning:
        return Tuning(held_least=1000)

    async def test_their_pictures_stay_and_recipients_of_deleted_ones_get_the_deletion(
        self, service: Service, host: PictureHost, offers: tuple[Offers, str]
    ) -> None:
        urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(3)]
        offers[0].urls = urls[2:]  # until it is stored
        await service.request(urls[:2], client="")
        await service.request(urls[2:], prefix="offer-")
        stored = await service.results(3)
        highest = max(result.attempt for result in stored)
        offers[0].urls = []
        [deleted] = await service.results(1)
        assert (deleted.reference, deleted.failure.code) == ("offer-0", "PICTURE_DELETED")
        assert deleted.attempt > highest
        exports = offers[0].exports
        await until(lambda: _has_grown(offers[0], exports + 3))
        assert await service.rows("SELECT url FROM pictures ORDER BY url") == [(url,) for url in urls[:2]]
        assert await service.rows("SELECT count(*) FROM stored_pictures") == [(2,)]
        given_up = PictureNotice(
            url=urls[0], delete_picture=DeletePicture(reason=DELETE_REASON_GIVEN_UP, recipient=service.recipient)
        )
        notices = PictureNotices(notices=[given_up])
        await service.producer.send([message_of(PICTURES_REQUESTS, b"notice", notices)])
        [ended] = await service.results(1)
        assert (ended.reference, ended.failure.code) == ("0", "PICTURE_DELETED")
        await until(lambda: _has(service, "SELECT 1 FROM stored_pictures HAVING count(*) = 1"))


async def _has_grown(offers: Offers, exports: int) -> bool:
    return offers.exports >= exports


class TestConfirmed:
    @pytest.fixture
    def options(self, offers: tuple[Offers, str]) -> dict[str, Any]:
        return {"offers_address": offers[1], "compare_s": 10**9}

    @pytest.fixture
    def tuning(self) -> Tuning:
        return Tuning(held_least=0)

    async def test_a_held_comparison_marks_what_it_found_once_somebody_says_yes(
        self, service: Service, host: PictureHost, offers: tuple[Offers, str]
    ) -> None:
        urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(6)]
        await service.request(urls)
        await service.results(6)
        offers[0].urls = urls[:2]
        trigger = TriggerJobRequest(queue=COMPARE, task=COMPARE, lock_key=COMPARE)
        await ended(service, (await service.jobs.TriggerJob(trigger)).job_id)
        comparisons = (await service.pictures.ListComparisons(ListComparisonsRequest())).comparisons
        [held] = [each for each in comparisons if each.state == COMPARISON_STATE_HELD]
        assert (held.compared, held.unused) == (6, 4)
        marked = "SELECT url FROM pictures WHERE delete_mark_at IS NOT NULL"
        assert await service.rows(marked) == []
        exports = offers[0].exports
        confirm = ConfirmComparisonRequest(comparison_id=held.comparison_id)
        confirmed = await service.pictures.ConfirmComparison(confirm)
        assert (confirmed.comparison_id, confirmed.state != COMPARISON_STATE_HELD) == (held.comparison_id, True)
        again = await service.pictures.ConfirmComparison(confirm)
        assert again.comparison_id == held.comparison_id

        async def are_marked() -> bool:
            return {url for (url,) in await service.rows(marked)} == set(urls[2:])

        await until(are_marked)
        states = await service.rows("SELECT state FROM comparisons WHERE comparison_id = %s", held.comparison_id)
        assert states == [("DONE",)]
        assert offers[0].exports == exports
        jobs = f"SELECT 1 FROM dl_jobs_done WHERE args->>'comparison_id' = '{held.comparison_id}'"
        await until(lambda: _has(service, jobs))
        assert len(await service.rows(jobs)) == 1
        assert await service.rows("SELECT count(*) FROM stored_pictures") == [(6,)]  # marked, and not deleted yet


async def _has(service: Service, query: str) -> bool:
    return bool(await service.rows(query))
