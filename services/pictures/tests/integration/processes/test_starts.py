"""Processes that start while S3 or PostgreSQL is unavailable: they wait, report the reason, and then work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from classifeed_common.db import Database
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until

from ..campaign import Campaign
from ..campaign_start import make_campaign
from ..fleet import role_groups
from ..picture_host import PictureHost, jpeg

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
async def campaign(
    migrated_database: MigratedDatabase, kafka: EmbeddedKafka, s3: EmbeddedS3
) -> AsyncIterator[Campaign]:
    database: Database = await migrated_database("classifeed_pictures")
    async with make_campaign(database, kafka, s3) as campaign:
        yield campaign


async def test_processes_wait_for_servers_that_are_away(
    campaign: Campaign, postgres: EmbeddedPostgres, s3: EmbeddedS3, host: PictureHost
) -> None:
    fleet = campaign.fleet

    async def are_waiting_for(name: str) -> bool:
        found = [await health_of(fleet.folder / f"{pid}.json") for pid in fleet.alive]
        assert {state for _, state in fleet.states()} <= {"R", "S", "D"}, "a process has ended"
        return all(name in health.get("missing", {}) and health["status"] == "not ready" for health in found)

    await asyncio.to_thread(s3.kill)
    await asyncio.to_thread(postgres.kill)
    for group in role_groups():
        await fleet.start(group)
    await until(lambda: are_waiting_for("postgres"))
    postgres.start()  # in this thread, since the server dies with the thread that starts it
    await until(lambda: are_waiting_for("s3"))
    s3.start()
    await campaign.request({"1": (host.put("/1.jpg", jpeg(1)), "offers")})
    await campaign.wait_for(["1"], within_s=120)


async def health_of(file: Any) -> dict[str, Any]:
    """Return the health report of a process; None while it does not listen."""
    if not file.exists():
        return {}
    async with loopback_client() as client:
        found: dict[str, Any] = (await client.get(f"http://{json.loads(file.read_text())['http']}/health")).json()
    return found
