"""CPU of an offer in the whole suite, as a ratio that does not depend on the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.feeds.smoke import measure_smoke

from classifeed_devkit.testing.campaigns import in_campaigns
from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@in_campaigns
def test_an_offer_costs_no_twice_of_what_is_committed(
    suite: Suite, seller: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    smoke = measure_smoke(suite, tmp_path, seller)
    record_property("figure", str(smoke))
    assert smoke.services_us > 0
    assert smoke.ratio <= 2 * smoke.committed, smoke
