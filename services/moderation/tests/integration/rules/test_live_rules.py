"""Rules are reloaded while the service runs, and each decision names the version that made it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import httpx
import pytest

from classifeed_devkit.testing.recovery import until

from ...conftest import END, PEOPLE, verdict
from ..conftest import Service

pytestmark = pytest.mark.kafka
INSULT = "text_toloka_insult"
RULES = """\
name: {name}
unknown_verdict: forbid
verdicts:
  {verdict}:
    - {{allowed: {allowed}, regions: [1]}}
    - {{allowed: false}}
"""


def put(file: Path, content: str) -> None:
    """Replace the content atomically, as a deployment does."""
    new = file.with_suffix(".new")
    new.write_text(content, "utf-8")
    os.replace(new, file)  # noqa: PTH105 - the name says it


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    put(file, RULES.format(name="last-year", verdict=INSULT, allowed="true"))
    return file


async def test_a_change_is_live_and_a_wrong_one_is_not(service: Service, rules_file: Path) -> None:
    service.stand_in.content = PEOPLE

    async def decide() -> tuple[str, str]:
        """Decide a text by callback; return its status, and the name of the rules."""
        key = await service.create_waiting()
        response = await service.call_back(verdict(INSULT, key=key), {**END, "key": key})
        assert response.status_code == 200
        [(status, rule_set)] = await service.rows("SELECT status, rule_set FROM decisions WHERE subject_key = %s", key)
        return status, rule_set.partition("@")[0]

    async def blocked() -> str:
        found: httpx.Response = await service.http.get("/health/ready")
        return str(found.json().get("blocked", ""))

    async def is_refused() -> bool:
        return "rules" in await blocked()

    async def is_forbidden() -> bool:
        return await decide() == ("DISAPPROVED", "this-year")

    assert await decide() == ("APPROVED", "last-year")
    await asyncio.to_thread(put, rules_file, RULES.format(name="wrong", verdict=INSULT, allowed="maybe"))
    await until(is_refused)
    assert "allowed" in await blocked()
    assert await decide() == ("APPROVED", "last-year")
    await asyncio.to_thread(put, rules_file, RULES.format(name="this-year", verdict=INSULT, allowed="false"))
    await until(is_forbidden)
    assert not await is_refused()
    versions = await service.rows("SELECT DISTINCT rule_set FROM decisions")
    assert {version.partition("@")[0] for (version,) in versions} == {"last-year", "this-year"}
    assert all(version.partition("@")[2] for (version,) in versions)
