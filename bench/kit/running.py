"""Sizes from the environment, folders, servers, and measurements in separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.suite import Suite

from bench.kit.cpu import cpu_of_tree
from classifeed_devkit.embedded.postgres import EmbeddedPostgres


def size_of(variable: str, default: int) -> int:
    """Return a size that a variable of the environment may change."""
    return int(os.environ.get(variable, default))


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield an empty folder that servers of other users may enter; remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="cf-bench-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def measure_in_process(module: str, *arguments: object) -> Any:
    """Run a module in a new process; return the JSON that it prints.

    Raises:
        RuntimeError: the process failed.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    sys.stderr.write(ran.stderr)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    return json.loads(ran.stdout)


@contextmanager
def running_postgres() -> Iterator[EmbeddedPostgres]:
    """Yield a running PostgreSQL server with fsync; remove it afterwards."""
    with scratch() as folder:
        server = EmbeddedPostgres(folder / "postgres", password="bench")
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def running_suite(knobs: dict[str, str] | None = None, *, only: Sequence[str] = ()) -> Iterator[tuple[Suite, Path]]:
    """Yield a running suite and a folder for files of the benchmark; remove both afterwards.

    Args:
        knobs: variables of the environment of its services.
        only: the services to start, with the servers that they need; all by default.
    """
    with scratch() as folder:
        suite = Suite(folder / "suite", knobs)
        try:
            suite.up(only)
            yield suite, folder
        finally:
            suite.down()


def pids_of_services(suite: Suite) -> dict[str, list[int]]:
    """Return the ids of the processes of each service."""
    return {name: sorted(set(service["pids"].values())) for name, service in suite.status()["services"].items()}


def cpu_of_services(suite: Suite) -> dict[str, float]:
    """Return the seconds of CPU that each service and its child processes have used so far."""
    return {name: sum(map(cpu_of_tree, pids)) for name, pids in pids_of_services(suite).items()}


def cpu_of_servers(suite: Suite) -> dict[str, float]:
    """Return the seconds of CPU that PostgreSQL, Kafka and S3 have used so far."""
    return {name: cpu_of_tree(int(part["pid"])) for name, part in suite.status()["parts"].items()}
