"""A service in a separate process: signals, exit codes, and messages about wrong settings."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest

from .test_runner import until

SERVICE = """
    import asyncio
    import gc
    import time
    import structlog
    from pydantic_settings import SettingsConfigDict
    from classifeed_common.runner import Role, ServiceRunner, main
    from classifeed_common.settings import ServiceSettings
    from classifeed_domain.policy import POLICY

    class ShopSettings(ServiceSettings):
        model_config = SettingsConfigDict(env_prefix="CLASSIFEED_SHOP_", frozen=True)

    async def idle(stop):
        structlog.get_logger("shop").info("shop.idle", frozen=gc.get_freeze_count(), young=gc.get_threshold()[0])
        await stop.wait()

    async def busy(stop):
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
        raise OSError("disk is full")

    async def missing():
        raise ConnectionError("no broker")

    def build(settings):
        if settings.s3_endpoint:
            raise OSError("index is in use")
        readiness = {"kafka": missing} if settings.kafka_bootstrap else {}
        roles = [Role("idle", idle), *([Role("busy", busy)] if settings.s3_bucket == "busy" else [])]
        return ServiceRunner(settings, "shop", "1", roles=roles, policy=POLICY, readiness=readiness)

    main("shop", ShopSettings, build, None)
"""


async def spawn(tmp_path: Path, *arguments: str, **variables: str) -> asyncio.subprocess.Process:
    program = tmp_path / "shop.py"
    program.write_text(textwrap.dedent(SERVICE))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(program),
        *arguments,
        env={**os.environ, **{f"CLASSIFEED_SHOP_{name}": value for name, value in variables.items()}},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_a_process_ends_with_0_on_sigterm(tmp_path: Path) -> None:
    run_file = tmp_path / "run.json"
    process = await spawn(tmp_path, RUN_FILE=str(run_file), DRAIN_NOTICE_S="0")
    try:
        await until(run_file.exists)
        shown = json.loads(run_file.read_text())
        assert shown["pid"] == process.pid
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(120):
            _, log = await process.communicate()
        assert process.returncode == 0
        lines = [json.loads(line) for line in log.decode().splitlines()]
        assert [line["event"] for line in lines] == [
            "runner.started",
            "shop.idle",
            "runner.draining",
            "runner.stopped",
        ]
        idle = lines[1]
        assert idle["frozen"] > 50_000, "the collector goes through what was imported"
        assert idle["young"] >= 10_000, "the collector runs several times a batch"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_thread_that_goes_on_keeps_no_process_that_has_ended(tmp_path: Path) -> None:
    process = await spawn(tmp_path, S3_BUCKET="busy", DRAIN_NOTICE_S="0")
    try:
        async with asyncio.timeout(120):
            _, log = await process.communicate()
        assert process.returncode == 1
        assert json.loads(log.decode().splitlines()[-1])["event"] == "runner.threads.left"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize(
    ("arguments", "variables", "code", "message"),
    [
        (["--help-settings"], {}, 0, ""),
        (["check"], {}, 0, ""),
        (["check"], {"KAFKA_BOOTSTRAP": "x:1"}, 1, "kafka: ConnectionError: no broker\n"),
        (["check"], {"S3_ENDPOINT": "x"}, 1, ""),
        ([], {"S3_ENDPOINT": "x"}, 1, ""),
        ([], {"DB_POOL_MAX": "none"}, 2, "CLASSIFEED_SHOP_DB_POOL_MAX='none' is refused"),
        (["--role", "other"], {}, 2, "there is no role other; roles are: serve, idle\n"),
        ([], {"GRPC_LISTEN": "0.0.0.0:0"}, 2, "CLASSIFEED_SHOP_GRPC_LISTEN=0.0.0.0:0 would be open to everyone"),
    ],
)
async def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], code: int, message: str
) -> None:
    process = await spawn(tmp_path, *arguments, **variables)
    async with asyncio.timeout(120):
        _, errors = await process.communicate()
    spoken = [line for line in errors.decode().splitlines() if not line.startswith("{")]
    assert process.returncode == code
    assert "\n".join([*spoken, ""]).startswith(message)
    assert len(spoken) == (1 if message else 0)
