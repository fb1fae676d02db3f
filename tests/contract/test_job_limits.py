"""Each service with jobs takes from its settings how many of them one caller may have open."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from tests.contract.test_http_routes import settings_of

from classifeed_client.jobs import JOB_SERVICES
from classifeed_jobs import MAX_OPEN_PER_CALLER

OWN_NAMES = {"loader": "DL_MAX_OPEN_PER_CALLER"}


@pytest.mark.parametrize("service", JOB_SERVICES)
async def test_limit_of_open_jobs_is_a_setting(service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap = importlib.import_module(f"classifeed_{service}.bootstrap")
    make, limits = bootstrap.job_servicer, []

    def noting(*arguments: Any, **options: Any) -> Any:
        limits.append(options["max_open_per_caller"])
        return make(*arguments, **options)

    monkeypatch.setattr(bootstrap, "job_servicer", noting)
    for _ in range(2):
        runner = bootstrap.build(settings_of(service, tmp_path))
        await runner._on_stop()
        monkeypatch.setenv(OWN_NAMES.get(service, f"CLASSIFEED_{service.upper()}_JOBS_MAX_OPEN_PER_CALLER"), "3")
    assert limits == [MAX_OPEN_PER_CALLER, 3]
