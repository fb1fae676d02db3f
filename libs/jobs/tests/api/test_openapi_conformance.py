"""Requests that schemathesis makes from the served OpenAPI document, right and wrong ones, against the server."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from classifeed_common.testing.campaigns import IS_LONG

from .conftest import ApiServices

_HERE = Path(__file__).parent
_EXTENT = ("--max-examples=20",) if IS_LONG else ("--max-examples=5", "--phases=fuzzing")


@pytest.mark.slow
async def test_schemathesis_finds_nothing(services: ApiServices, tmp_path: Path) -> None:
    for name in ("schemathesis.toml", "openapi_formats.py"):  # what it keeps of a run is not for the next one
        shutil.copy(_HERE / name, tmp_path)
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("st"),
        f"--config-file={tmp_path / 'schemathesis.toml'}",
        "run",
        str(services.http.base_url.join("/openapi.json")),
        "--no-color",
        *_EXTENT,
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
