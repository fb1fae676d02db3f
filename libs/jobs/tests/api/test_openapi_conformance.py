"""Requests that schemathesis makes from the served OpenAPI document, right and wrong ones, against the server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from .conftest import ApiServices

_HERE = Path(__file__).parent


@pytest.mark.slow
async def test_schemathesis_finds_nothing(services: ApiServices) -> None:
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("st"),
        f"--config-file={_HERE / 'schemathesis.toml'}",
        "run",
        str(services.http.base_url.join("/openapi.json")),
        "--no-color",
        cwd=_HERE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
