"""One suite for all end-to-end tests of a process; each test has its own seller."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from classifeed_devkit.testing.servers import server_folder
from tests.e2e.suite import SPANS, Suite

_KNOBS = {
    "TIMEZONE": "Asia/Tokyo",
    "CLASSIFEED_JOBS_LEASE_S": "4",
    "CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1",
    "CLASSIFEED_LOADER_MIN_INTERVAL_S": "2",
    # A test that waits for a silent site must not take minutes.
    "CLASSIFEED_LOADER_FETCH_TOTAL_S": "10",
    "CLASSIFEED_LOADER_FETCH_MAX_BYTES": str(16 << 20),
    "CLASSIFEED_LOADER_BACKOFF_BASE_S": "5",
    # Only texts of tests/e2e/test_reviewers.py have a higher score.
    "CLASSIFEED_CLEANWEB_PASS_SCORE": "0.9999",
    # Only traces that a test starts have spans.
    "OTEL_TRACES_SAMPLER": "parentbased_always_off",
    "OTEL_BSP_SCHEDULE_DELAY": "200",
}


# Not a fixture of the session: later tests need the cores.
@pytest.fixture(scope="package")
def suite() -> Iterator[Suite]:
    with server_folder("e2e") as folder:
        running = Suite(folder, {**_KNOBS, "CLASSIFEED_TELEMETRY_FILE": str(folder / SPANS)})
        try:
            running.up()
            yield running
        finally:
            running.down()


@pytest.fixture
def seller() -> str:
    return f"s{uuid.uuid4().hex[:10]}"
