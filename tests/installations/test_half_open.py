"""Databases that become silent during loads: connections that stay open without data, and a stopped server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench.kit.generated_feed import offer_ids, write_feed

from classifeed_devkit.embedded.ports import pick_free_port
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import Stopwatch
from classifeed_devkit.testing.servers import server_folder
from classifeed_devkit.testing.tcp_proxy import TcpProxy
from tests.e2e.signals import stopped
from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3000), in_campaigns]

_OFFERS = 4_000
_SELLERS = 6
_STAND_STILL_S = 60
_SILENT = ("offers", "processor")
_LIMIT_S = 600.0
Uploads = dict[str, subprocess.Popen[str]]


@dataclass(frozen=True)
class Proxied:
    """A suite in which some services connect to PostgreSQL through proxies, by service."""

    suite: Suite
    proxies: dict[str, TcpProxy]

    def loaded(self, sellers: Sequence[str]) -> int:
        """Return the number of offers of these sellers."""
        query = "SELECT count(*) FROM offers WHERE seller_id = ANY(%s)"
        return int(self.suite.query("offers", query, list(sellers))[0][0])

    def dead_connections(self, service: str) -> int:
        """Return the number of connections that a service has found dead so far."""
        return int(self.suite.metric(service, "classifeed_db_dead_connections_total"))


@pytest.fixture(scope="module")
def proxied() -> Iterator[Proxied]:
    port = pick_free_port()
    proxies = {name: TcpProxy("127.0.0.1", port).start() for name in _SILENT}
    knobs = {f"CLASSIFEED_{name.upper()}_POSTGRES_ADDRESS": proxy.address for name, proxy in proxies.items()}
    with server_folder("half-open") as folder:
        running = Suite(folder, {"CLASSIFEED_POSTGRES_PORT": str(port), **knobs})
        try:
            running.up()
            yield Proxied(running, proxies)
        finally:
            running.down()
            for proxy in proxies.values():
                proxy.stop()


def load_over(proxied: Proxied, folder: Path, what: str, fault: Callable[[], None]) -> None:
    """Load the feeds of several sellers with a fault in the middle; all loads must end, and no offer is lost."""
    suite = proxied.suite
    sellers = [f"s{os.urandom(4).hex()}" for _ in range(_SELLERS)]
    files = {seller: write_feed(folder / f"{seller}.yml", _OFFERS, prefix=seller) for seller in sellers}
    with uploads(suite, files) as uploading:
        outcomes = outcomes_over(proxied, uploading, what, fault)
    assert {seller: outcome for seller, outcome in outcomes.items() if outcome[0] != 0} == {}
    for seller in sellers:
        assert set(suite.offers(seller)) == set(offer_ids(_OFFERS, prefix=seller))


@contextmanager
def uploads(suite: Suite, files: dict[str, Path]) -> Iterator[Uploads]:
    """Start a load of each seller's file; the end of the block kills those that still run."""
    uploading = {
        seller: suite.start_command("feed", "upload", file, "--seller", seller, "--timeout", str(_LIMIT_S))
        for seller, file in files.items()
    }
    try:
        yield uploading
    finally:
        for process in uploading.values():
            process.kill()
            process.communicate()


def outcomes_over(
    proxied: Proxied, uploading: Uploads, what: str, fault: Callable[[], None]
) -> dict[str, tuple[int, str]]:
    """Wait until the loads are in progress, call `fault`, and return the outcome of each seller's load."""
    suite, sellers = proxied.suite, list(uploading)
    suite.wait(lambda: proxied.loaded(sellers) > _OFFERS // 2, _LIMIT_S, "loads are in progress")
    assert all(process.poll() is None for process in uploading.values()), "the fault came too late"
    fault()
    watch = Stopwatch(f"{what}: the next offers")
    before = proxied.loaded(sellers)
    suite.wait(lambda: proxied.loaded(sellers) > before, _LIMIT_S, "offers are loaded again")
    watch.stop()

    watch = Stopwatch(f"{what}: the rest of a load")

    def ended(seller: str) -> tuple[int, str]:
        output, error = uploading[seller].communicate(timeout=_LIMIT_S)
        watch.stop()
        return uploading[seller].returncode, output + error

    with ThreadPoolExecutor(_SELLERS) as threads:
        return dict(zip(sellers, threads.map(ended, sellers), strict=True))


@pytest.mark.parametrize("silent", [_SILENT, ("offers",), ("processor",)], ids=" and ".join)
def test_loads_end_after_connections_have_fallen_silent(
    proxied: Proxied, tmp_path: Path, silent: tuple[str, ...]
) -> None:
    def fall_silent() -> None:
        for name in silent:
            assert proxied.proxies[name].silence_existing()

    before = {name: proxied.dead_connections(name) for name in silent}
    load_over(proxied, tmp_path, f"connections of {' and '.join(silent)}", fall_silent)
    for name in silent:
        assert proxied.dead_connections(name) > before[name]
    proxied.suite.wait(lambda: bool(proxied.suite.status()["ready"]), _LIMIT_S, "all is well")


def test_a_database_server_that_stands_still_fails_no_load_and_costs_no_connection(
    proxied: Proxied, tmp_path: Path
) -> None:
    postmaster = proxied.suite.status()["parts"]["postgres"]["pid"]

    def stand_still() -> None:
        with stopped(postmaster):
            time.sleep(_STAND_STILL_S)  # the fault itself

    before = {name: proxied.dead_connections(name) for name in _SILENT}
    load_over(proxied, tmp_path, f"PostgreSQL was stopped for {_STAND_STILL_S} s", stand_still)
    assert {name: proxied.dead_connections(name) for name in _SILENT} == before
