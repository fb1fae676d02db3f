"""A process is killed in the middle of a rejudgement: the next one continues after its last slice."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from classifeed_common.auth import KeyStore
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import begin_at_ends
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_jobs.testing import lost_lease
from classifeed_moderation.bootstrap import prepare
from classifeed_moderation.consumers.requests import GROUP
from classifeed_moderation.settings import ModerationSettings

from ...conftest import Moderation
from ..rejudger import OTHER, Rejudger, changes_of, document_with, found_of, made, other_rules, seed

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
Start = Callable[[], subprocess.Popen[bytes]]
TEXTS = 30_000
KILLS = 2


@pytest.fixture
async def start(
    moderation: Moderation, kafka: Any, keys: KeyStore, tmp_path: Path
) -> AsyncIterator[Callable[[], subprocess.Popen[bytes]]]:
    """Yield a function that starts a process of moderation with other rules; all are killed at the end."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump(document_with(**OTHER)), "utf-8")
    environment = {
        "DSN": moderation.database.dsn,
        "KAFKA_BOOTSTRAP": kafka.bootstrap,
        "RULES_FILE": str(rules),
        "KEYS_DIR": str(keys.directory),
        "VERDICT_ENVIRONMENT": "load",  # waiting texts are not requested
        "LOG_LEVEL": "warning",
    }
    environment = {f"CLASSIFEED_MODERATION_{name}": value for name, value in environment.items()}
    await prepare(ModerationSettings(kafka_bootstrap=kafka.bootstrap))
    await begin_at_ends(moderation.database, kafka.bootstrap, GROUP, MODERATION_REQUESTS)
    running: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "classifeed_moderation"]
        running.append(subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        await asyncio.to_thread(process.wait, 60)


@in_campaigns
async def test_each_text_is_judged_once_though_processes_are_killed(moderation: Moderation, start: Start) -> None:
    await seed(moderation, TEXTS)
    rejudger = Rejudger(moderation, other_rules())
    await rejudger.begin()
    judged = in_the_middle = 0
    async with AsyncExitStack() as losses:
        for _ in range(KILLS):
            process, before = start(), judged

            async def has_come_further(before: int = before) -> bool:
                found = await rejudger.get()
                return found.done or found.judged > before + 3000

            await until(has_come_further, within_s=120.0)
            process.kill()
            await asyncio.to_thread(process.wait, 60)
            found = await rejudger.get()
            in_the_middle += not found.done
            judged = found.judged
            await losses.enter_async_context(lost_lease(moderation.database, process.pid))
        assert in_the_middle, "it was killed in the middle"
        start()

        async def is_done() -> bool:
            return (await rejudger.get()).done

        await until(is_done, within_s=180.0)
    assert found_of(await rejudger.get()) == changes_of(TEXTS)
    assert await made(moderation, TEXTS) == changes_of(TEXTS)[1]
