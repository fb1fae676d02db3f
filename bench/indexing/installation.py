"""Receiver, indexer and searcher with their default settings, each in a process, on real PostgreSQL and Kafka."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import grpc.aio
from tests.e2e.suite import Suite

from bench.processes import cpu_of_tree
from classifeed_common.auth import KeyStore
from classifeed_common.embedded.process import ServerError
from classifeed_common.rpc.client import open_channel

SERVICES: Final = ("receiver", "indexer", "searcher")


class Installation:
    """A running part of the suite."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.status = suite.status()
        self.databases = suite.database_server()
        self._servers = {name: int(self.status["parts"][name]["pid"]) for name in ("postgres", "kafka")}

    def channel(self, service: str, caller: str) -> grpc.aio.Channel:
        """Open a channel with service tokens; the caller closes it."""
        target = self.status["services"][service]["grpc"]
        return open_channel(target, caller=caller, audience=service, keys=KeyStore(self.suite.data / "keys"))

    def dsn(self, service: str) -> str:
        """Return the DSN with which a service opens its database."""
        return str(self.status["postgres"][service])

    def cpu(self) -> dict[str, float]:
        """Return the seconds of CPU of each process."""
        services = {name: sum(map(cpu_of_tree, self._pids(name))) for name in SERVICES}
        return {**services, **{name: cpu_of_tree(pid) for name, pid in self._servers.items()}}

    def pause(self, service: str) -> None:
        """Stop the process of a service with SIGSTOP."""
        for pid in self._pids(service):
            os.kill(pid, signal.SIGSTOP)

    def resume(self, service: str) -> None:
        """Continue the process of a service."""
        for pid in self._pids(service):
            os.kill(pid, signal.SIGCONT)

    def _pids(self, service: str) -> set[int]:
        return set(self.status["services"][service]["pids"].values())


@contextmanager
def running() -> Iterator[Installation]:
    """Yield an installation and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cf-bench-"))
    suite = Suite(folder)
    try:
        started = suite.run_process("up", "--detach", "--only", ",".join(SERVICES), "--timeout", "300")
        if started.exit_code:
            raise ServerError(json.dumps(started.document))
        installation = Installation(suite)
        try:
            yield installation
        finally:
            installation.resume("indexer")
    finally:
        suite.down()
        shutil.rmtree(folder, ignore_errors=True)


def spent(before: dict[str, float], after: dict[str, float], documents: int) -> dict[str, float]:
    """Return the CPU of each process between two readings, in µs a document."""
    return {name: (after[name] - before[name]) / documents * 1e6 for name in after}
