"""A running suite, used through the command line."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import psycopg
from psycopg.conninfo import make_conninfo

from classifeed_cli.main import run
from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_devkit.testing.databases import DatabaseServer
from tests.e2e.waiting import wait_until

SPANS = "spans.jsonl"
"""Name of the file with the spans of all services, in the installation's folder."""
# Links of generated feeds lead nowhere.
_NO_PICTURES: Final = {"CLASSIFEED_OFFERS_PICTURES": "false"}


@dataclass(frozen=True)
class CommandResult:
    """The result of a command."""

    exit_code: int
    document: dict[str, Any]
    stderr: str


class Suite:
    """An installation in its own folder."""

    def __init__(self, data: Path, knobs: dict[str, str] | None = None) -> None:
        self.data = data
        self._environment = {**os.environ, "CLASSIFEED_DATA": str(data), **_NO_PICTURES, **(knobs or {})}
        self._dsns: dict[str, str] = {}

    def run(self, *arguments: str | Path) -> CommandResult:
        """Run `classifeed … --json` and return its result.

        The command runs in this process if possible: a new process takes a second of a core for imports.
        """
        if threading.current_thread() is not threading.main_thread():
            return self.run_process(*arguments)
        stdout, stderr = io.StringIO(), io.StringIO()
        with patch.dict(os.environ, self._environment), redirect_stdout(stdout), redirect_stderr(stderr):
            exit_code = run([*map(str, arguments), "--json"])
        return _result_of(exit_code, stdout.getvalue(), stderr.getvalue())

    def run_process(self, *arguments: str | Path, timeout_s: float = 600) -> CommandResult:
        """Run `classifeed … --json` in a new process and return its result."""
        process = subprocess.run(
            [sys.executable, "-m", "classifeed_cli.main", *map(str, arguments), "--json"],
            capture_output=True,
            text=True,
            env=self._environment,
            timeout=timeout_s,
            check=False,
        )
        return _result_of(process.returncode, process.stdout, process.stderr)

    def start_command(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start a command and leave it running."""
        return subprocess.Popen(
            [sys.executable, "-m", "classifeed_cli.main", *map(str, arguments), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
        )

    @property
    def services(self) -> list[str]:
        """Services to start: pictures only if offers have pictures, since every service takes CPU.

        Up to three installations share the cores.
        """
        pictures = self._environment["CLASSIFEED_OFFERS_PICTURES"] == "true"
        return [name for name in ServiceTable.load().services if pictures or name != "pictures"]

    def up(self, services: Sequence[str] = ()) -> None:
        """Start the services, all by default, and wait for health."""
        self._dsns = {}  # may have the DSNs of an earlier start
        only = ",".join(services or self.services)
        result = self.run_process("up", "--detach", "--timeout", "600", "--only", only, timeout_s=700)
        assert result.exit_code == 0, (result.document, result.stderr)

    def down(self) -> None:
        """Stop everything."""
        self.run_process("down")

    def status(self) -> dict[str, Any]:
        """Return `status --json`."""
        return self.run("status").document

    def settle(self, timeout_s: float = 400) -> None:
        """Wait until no loads, events or documents are in progress."""
        result = self.run("settle", "--timeout", str(timeout_s))
        assert result.exit_code == 0, result.document

    def upload(self, file: Path, seller: str, *options: str, timeout_s: float = 300) -> CommandResult:
        """Upload a file and wait for the end of its load."""
        return self.run("feed", "upload", file, "--seller", seller, "--timeout", str(timeout_s), *options)

    def errors(self, task: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all errors and warnings about the offers of a task."""
        result = self.run("task", "errors", task["seller_id"], task["namespace"], task["task_id"], "--limit", "100000")
        assert result.exit_code == 0, result.document
        return list(result.document["errors"])

    def search(self, query: str, seller: str, *options: str) -> list[dict[str, Any]]:
        """Return the hits of a search."""
        result = self.run("search", query, "--seller", seller, "--limit", "1000", *options)
        assert result.exit_code == 0, result.document
        return list(result.document["hits"])

    def offers(self, seller: str, namespace: str = "default") -> dict[str, dict[str, Any]]:
        """Return the offers that are not removed, by external id."""
        result = self.run("offer", "list", seller, namespace, "--limit", "1000000")
        assert result.exit_code == 0, result.document
        return {offer["external_id"]: offer for offer in result.document["offers"]}

    def query(self, service: str, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Read a service's own tables."""
        if not self._dsns:  # they stay the same, and asking takes a second
            self._dsns = self.status()["postgres"]
        with psycopg.connect(self._dsns[service], options=f"-c search_path={service}") as connection:
            return connection.execute(sql, parameters).fetchall()

    def database_server(self) -> DatabaseServer:
        """Return the server of all databases with its superuser, who may copy and replace databases."""
        [dsn, *_] = self.status()["postgres"].values()
        password = json.loads((self.data / "keys" / "postgres.json").read_text())["postgres"]
        return DatabaseServer(make_conninfo(dsn, user="postgres", password=password, dbname="postgres"))

    def http(self, service: str, path: str) -> str:
        """Return the body of an HTTP response of a service."""
        address = self.status()["services"][service]["http"]
        with urllib.request.urlopen(f"{address}{path}", timeout=60) as response:
            return str(response.read().decode())

    def metric(self, service: str, name: str) -> float:
        """Return the sum of a metric of a service over its labels."""
        found = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", self.http(service, "/metrics"), re.M)
        return sum(float(value) for value in found)

    def kill(self, service: str, pids: Mapping[str, int] | None = None) -> None:
        """Kill the processes of a service with SIGKILL.

        Args:
            service: the name of the service.
            pids: its pids, if there is no time to request its status.
        """
        for pid in (pids or self.status()["services"][service]["pids"]).values():
            os.kill(pid, signal.SIGKILL)

    def wait(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait for a condition.

        Raises:
            AssertionError: the condition is not true in time.
        """
        wait_until(condition, timeout_s, what, 0.1)


def _result_of(exit_code: int, stdout: str, stderr: str) -> CommandResult:
    try:
        return CommandResult(exit_code, json.loads(stdout), stderr)
    except ValueError as error:
        raise AssertionError(f"stdout is no JSON document: {stdout!r}\n{stderr}") from error
