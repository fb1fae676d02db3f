"""Times of log lines are UTC, in any time zone of the system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

_PROGRAM = """
import logging, time
import structlog
from classifeed_common.telemetry.logging import configure_logging
from classifeed_common.settings import ServiceSettings

configure_logging("offers", zone=ServiceSettings(_env_file=None, time_zone="Asia/Tokyo").log_zone)
structlog.get_logger("one").info("ours")
logging.getLogger("library").warning("theirs")
"""


def lines_of(program: str, zone: str) -> list[dict[str, Any]]:
    ended = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"TZ": zone}, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in ended.stderr.splitlines()]


def test_times_are_utc_on_a_machine_and_with_schedules_of_another_zone() -> None:
    lines = lines_of(_PROGRAM, "Asia/Tokyo")
    assert [line["event"] for line in lines] == ["ours", "theirs"]
    for line in lines:
        assert line["timestamp"].endswith("Z")
        assert abs(datetime.fromisoformat(line["timestamp"]) - datetime.now(UTC)) < timedelta(hours=1)
