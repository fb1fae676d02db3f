"""Each service with jobs has settings for the open jobs of a caller and for the time zone of schedules."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http.http_services import settings_of

from classifeed_client.jobs import JOB_SERVICES
from classifeed_jobs import MAX_OPEN_PER_CALLER
from classifeed_jobs.service import ServiceJobs

OWN_NAMES = {"loader": {"JOBS_MAX_OPEN_PER_CALLER": "DL_MAX_OPEN_PER_CALLER", "TIME_ZONE": "TIMEZONE"}}


@pytest.mark.parametrize("service", JOB_SERVICES)
async def test_limit_of_open_jobs_and_time_zone_are_settings(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def set_to(name: str, value: str) -> None:
        monkeypatch.setenv(OWN_NAMES.get(service, {}).get(name, f"CLASSIFEED_{service.upper()}_{name}"), value)

    bootstrap = importlib.import_module(f"classifeed_{service}.bootstrap")
    make, given = ServiceJobs.__init__, []

    def noting(*arguments: Any, **options: Any) -> None:
        given.append((options["max_open_per_caller"], options["time_zone"]))
        make(*arguments, **options)

    monkeypatch.setattr(ServiceJobs, "__init__", noting)
    for _ in range(2):
        runner = bootstrap.build(settings_of(service, tmp_path))
        await runner._on_stop()
        set_to("JOBS_MAX_OPEN_PER_CALLER", "3")
        set_to("TIME_ZONE", "Asia/Tokyo")
    assert [limit for limit, _ in given] == [MAX_OPEN_PER_CALLER, 3]
    assert given[1][1] == "Asia/Tokyo" != given[0][1]
