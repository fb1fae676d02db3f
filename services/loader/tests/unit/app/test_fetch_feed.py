from __future__ import annotations

from datetime import UTC, datetime

from classifeed_common.fetch import HostPaused
from classifeed_loader.app.fetch_feed import wait_s


def paused(host: str, for_s: float) -> HostPaused:
    return HostPaused(host, for_s, datetime.now(UTC), by_retry_after=False)


def test_a_fetch_that_its_host_refuses_waits_longer_after_each_run() -> None:
    waits = [wait_s(paused("shop.test", 5), "https://SHOP.test:8443/a", run) for run in range(1, 200)]
    assert 5.5 <= waits[0] <= 6
    assert 20 <= waits[-1] <= 35
    assert all(each <= 35 for each in waits)


def test_a_fetch_that_a_redirect_leads_to_a_refusing_host_spares_the_first_host() -> None:
    assert wait_s(paused("shop.test", 1), "http://short.test/a", 1) >= 60
    assert wait_s(paused("shop.test", 600), "http://short.test/a", 1) >= 600


def test_a_link_that_cannot_be_read_has_its_wait() -> None:
    assert wait_s(paused("shop.test", 1), "http://[half", 1) >= 60
