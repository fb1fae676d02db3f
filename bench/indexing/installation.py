"""Receiver, indexer and searcher as they are shipped, on real PostgreSQL and Kafka, in processes of their own."""

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
        """Open a channel with tokens; close it at the end."""
        target = self.status["services"][service]["grpc"]
        return open_channel(target, caller=caller, audience=service, keys=KeyStore(self.suite.data / "keys"))

    def dsn(self, service: str) -> str:
        """Return the database of a service, as the service itself opens it."""
        return str(self.status["postgres"][service])

    def cpu(self) -> dict[str, float]:
        """Return the seconds of CPU of each process."""
        services = {name: sum(map(cpu_of_tree, self._pids(name))) for name in SERVICES}
        return {**services, **{name: cpu_of_tree(pid) for name, pid in self._servers.items()}}

    def pause(self, service: str) -> None:
        """Have a service stand still."""
        for pid in self._pids(service):
            os.kill(pid, signal.SIGSTOP)

    def resume(self, service: str) -> None:
        """Have it go on."""
        for pid in self._pids(service):
            os.kill(pid, signal.SIGCONT)

    def _pids(self, service: str) -> set[int]:
        return set(self.status["services"][service]["pids"].values())


@contextmanager
def running() -> Iterator[Installation]:
    """Give an installation; nothing of it is left at the end."""
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
    """Return the microseconds of CPU a document of each process between two readings."""
    return {name: (after[name] - before[name]) / documents * 1e6 for name in after}
