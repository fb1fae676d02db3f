from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from classifeed_devkit.testing.servers import server_folder

FAKES = Path(__file__).parent / "fakes"


@dataclass
class Cli:
    """Runs the real program with one data folder and the table of fake services."""

    data: Path
    env: dict[str, str] = field(default_factory=dict)

    def environment(self, **more: str) -> dict[str, str]:
        own = {
            "CLASSIFEED_DATA": str(self.data),
            "CLASSIFEED_SERVICE_TABLE": str(FAKES / "services.toml"),
            "PYTHONPATH": str(FAKES),
        }
        given = {
            name: value for name, value in os.environ.items() if name != "COLUMNS"
        }  # it would wrap output to a pipe
        return {**given, **own, **self.env, **more}

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "classifeed_cli.main", *arguments],
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments, **more) as process:
            out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def json(self, *arguments: str, code: int = 0, **more: str) -> dict[str, Any]:
        done = self.run(*arguments, "--json", **more)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def service_file(self, service: str, name: str) -> Path:
        return self.data / "services" / service / name


@pytest.fixture
def cli() -> Iterator[Cli]:
    with server_folder("cli") as folder:
        tool = Cli(folder / "data")
        yield tool
        assert tool.run("down").returncode == 0


def wait_until(condition: Callable[[], bool], timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.05)


@pytest.fixture
def eventually() -> Callable[..., None]:
    return wait_until
