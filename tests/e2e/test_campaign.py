"""No fault loses an offer: processes and servers die or are stopped, and rows are damaged, while feeds are loaded."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.kit.generated_feed import offer_ids, write_feed

from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from tests.e2e.children import WRITER, stopped_children, wait_for_child, wait_until_unnamed
from tests.e2e.resting import RESTING_OFFERS, Resting
from tests.e2e.site import Site, serve_site
from tests.e2e.suite import Suite
from tests.e2e.test_loads import counts_of
from tests.e2e.topic import check_runs, requests_of
from tests.e2e.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(7200)]
_MOMENTS = 200 if IS_LONG else 12
_SEED = int(os.environ.get("CLASSIFEED_SEED", "20261121"))
_MOMENTS_OF_CHILDREN = 20  # the first moment, and one after each 20
_OFFERS = 2_000 if IS_LONG else 500
_SERVICES = ("api", "loader", "processor", "offers", "receiver", "indexer", "searcher")
# Every process dies by SIGKILL. PostgreSQL also gets a fast shutdown, which closes every connection.
_SERVERS = (
    ("kafka", signal.SIGKILL),
    ("postgres", signal.SIGKILL),
    ("postgres", signal.SIGINT),
    ("s3", signal.SIGKILL),
)
_REMOVED = "REMOVED"


class Shop:
    """A seller whose feed changes all prices and some of its offers with each revision."""

    def __init__(self, seller: str, folder: Path, site: Site) -> None:
        self.seller = seller
        self.link = ""
        self.revision = 0
        self.contents: list[frozenset[str]] = []
        self._file = folder / f"{seller}.yml"
        self._site = site

    def publish(self, rng: random.Random) -> None:
        """Publish the next revision on the site."""
        ids = list(offer_ids(_OFFERS, prefix=self.seller))
        left_out = frozenset(rng.sample(ids, rng.randrange(1, _OFFERS // 10)))
        self.revision += 1
        write_feed(self._file, _OFFERS, prefix=self.seller, revision=self.least_price(), skip=left_out)
        self.contents.append(frozenset(ids) - left_out)
        self.link = self._site.put(f"/{self.seller}.yml", self._file.read_bytes())

    def least_price(self) -> int:
        """Return the lowest price of the newest revision; skipped revisions do not multiply it."""
        return 1_000_000 + self.revision * 10_000

    def lasting(self) -> frozenset[str]:
        """Return the offers that every revision so far has."""
        return frozenset.intersection(*self.contents)


class Watcher:
    """Polls all shops: after the first load, an offer that every revision has must exist at every moment."""

    def __init__(self, dsn: str, shops: list[Shop]) -> None:
        self._dsn = dsn
        self._waiting = {shop.seller for shop in shops}
        self._shops = shops
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.looks = 0
        self.faults: list[str] = []

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._stop.wait(0.3):
            try:
                with psycopg.connect(self._dsn, options="-c search_path=offers", connect_timeout=3) as connection:
                    for shop in self._shops:
                        self._look(connection, shop)
            except psycopg.OperationalError:
                continue  # the connection ended with its server; the next poll opens one

    def _look(self, connection: psycopg.Connection[Any], shop: Shop) -> None:
        lasting = shop.lasting()
        query = "SELECT external_id FROM offers WHERE seller_id = %s AND status <> %s"
        missing = lasting - {row[0] for row in connection.execute(query, (shop.seller, _REMOVED))}
        if not missing:
            self._waiting.discard(shop.seller)
        if shop.seller not in self._waiting:
            self.looks += 1
            if missing:
                self.faults.append(f"{shop.seller}: {len(missing)} offers are gone, such as {min(missing)}")


@pytest.fixture
def site() -> Iterator[Site]:
    with serve_site() as running:
        yield running


def plan_strikes(rng: random.Random) -> list[tuple[str, signal.Signals]]:
    """Return the processes to kill and their signals: each process once, then random services; in random order."""
    strikes = [*_SERVERS, *((name, signal.SIGKILL) for name in _SERVICES)]
    strikes += [(rng.choice(_SERVICES), signal.SIGKILL) for _ in range(_MOMENTS - len(strikes))]
    rng.shuffle(strikes)
    return strikes


def stop_child(suite: Suite, rng: random.Random) -> float:
    """Stop the searcher's index writer, then resume or kill it; return the seconds until `status` reports it."""
    pid = wait_for_child(suite, "searcher", WRITER)
    with stopped_children(suite, "searcher", [pid]) as named_s:
        if rng.choice((True, False)):
            os.kill(pid, signal.SIGKILL)
    wait_until_unnamed(suite, "searcher", [pid])
    return named_s


def strike(suite: Suite, name: str, number: signal.Signals, then: Callable[[], object] = lambda: None) -> None:
    """Kill a process, call `then` before its successor starts, and wait until the successor serves."""

    def look() -> tuple[int, int, bool]:
        status = suite.status()
        if name in status["services"]:
            service = status["services"][name]
            return service["pids"].get("all") or 0, service["restarts"], service["state"] == "SERVING"
        part = status["parts"][name]
        return part["pid"] or 0, part["restarts"], part["state"] == "RUNNING"

    def runs() -> tuple[int, int, bool] | None:
        found = look()
        return found if found[0] else None

    pid, restarts, _ = wait_until(runs, 300, f"{name} runs")
    os.kill(pid, number)
    then()

    def is_back() -> bool:
        _, now, serves = look()
        return now > restarts and serves

    wait_until(is_back, 600, f"{name} is back", 0.4)


@in_campaigns
def test_offers_are_those_of_the_last_load_whatever_dies(
    suite: Suite, site: Site, seller: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(_SEED)
    resting = Resting(suite, f"{seller}r", tmp_path)
    resting.load(1)
    suite.wait(lambda: resting.is_found(RESTING_OFFERS), 120, "the offers of the resting seller are found")
    shops = [Shop(f"{seller}{letter}", tmp_path, site) for letter in "abc"]
    for shop in shops:
        shop.publish(rng)
        added = suite.run("feed", "add", shop.link, "--no-wait", "--seller", shop.seller, "--every", "2s")
        assert added.exit_code == 0, added.document
    with Watcher(suite.status()["postgres"]["offers"], shops) as watcher:
        for moment, (name, number) in enumerate(plan_strikes(rng)):
            rng.choice(shops).publish(rng)
            time.sleep(rng.random())  # the fault comes at a random moment
            if name == "searcher" and not resting.is_damaged:
                resting.damage_row()
                strike(suite, name, number, resting.lose_index)
            else:
                strike(suite, name, number)
            if moment % _MOMENTS_OF_CHILDREN == 0:
                named_s = stop_child(suite, rng)
                record_property("figure", f"a stopped child of the searcher is in `status` after {named_s:.1f} s")
        for shop in shops:
            shop.publish(rng)
        for shop in shops:
            wait_until(partial(is_loaded, suite, shop), 900, f"the last revision of {shop.seller} is loaded", 1)
            paused = suite.run("feed", "pause", "--seller", shop.seller)
            assert paused.exit_code == 0, paused.document
        suite.wait(resting.is_named, 120, "status names the damaged row")
        assert resting.is_found(RESTING_OFFERS - 1), "a damaged row is left out, and all others are served"
        resting.load(2)
        suite.settle(timeout_s=900)
    assert watcher.faults == []
    assert watcher.looks > 30, "the watcher polled during the campaign"
    for shop in shops:
        check_at_rest(suite, shop)
    assert resting.is_found(RESTING_OFFERS)
    suite.wait(resting.is_mended, 120, "no row is damaged any more")


def is_loaded(suite: Suite, shop: Shop) -> bool:
    """Return whether the newest load succeeded and has the newest revision."""
    tasks = suite.run("task", "list", shop.seller, "default", "--limit", "1")
    if tasks.exit_code or not tasks.document["tasks"] or tasks.document["tasks"][0]["status"] != "SUCCEEDED":
        return False
    offer = suite.run("offer", "show", shop.seller, "default", min(shop.contents[-1]))
    price = int(offer.document.get("content", {}).get("price", {}).get("amount_micros", 0))
    return price >= shop.least_price() * 1_000_000


def check_at_rest(suite: Suite, shop: Shop) -> None:
    """Check that offers, index, tasks, fetches and the topic agree with the newest revision."""
    expected = shop.contents[-1]
    stored = suite.query(
        "offers", "SELECT external_id, status, version, published_version FROM offers WHERE seller_id = %s", shop.seller
    )
    assert {row[0] for row in stored if row[1] != _REMOVED} == expected
    assert all(row[2] == row[3] for row in stored), "everything is published"
    index = suite.run("search", "", "--seller", shop.seller, "--limit", "1").document
    assert int(index["total"]) == len(expected)

    tasks = suite.run("task", "list", shop.seller, "default", "--limit", "1000").document["tasks"]
    # On a slow machine three kills may hit one load; the job engine then gives it up, and the next load replaces it.
    ended = [task for task in tasks if task.get("error_code") != "QUARANTINED"]
    assert {task["status"] for task in ended} <= {"SUCCEEDED", "SUPERSEDED"}, tasks
    for task in tasks:
        if task["status"] == "SUCCEEDED":
            counts_of(task)
            assert task["statistics"]["total"] == task["expected_total"], "each record has one result"
    history = suite.run("feed", "fetches", "--seller", shop.seller, "--limit", "1000").document["fetches"]
    loads = {fetch["name"]: fetch["task"] for fetch in history if fetch["outcome"] == "LOADED"}
    assert loads == {task["fetch"]: task["name"] for task in tasks}, "one task for each fetch, and none is lost"

    batches = check_runs(requests_of(suite.status()["kafka"], shop.seller))
    assert {task_id for task_id, _ in batches} >= {int(t["task_id"]) for t in tasks if t["status"] == "SUCCEEDED"}
