"""The servers of the suite with migrated databases, and processes of a role."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from confluent_kafka.admin import AdminClient

from bench.processes import cpu_of_tree
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.planning.migrate import PLAN_VARIABLE, describe_step
from classifeed_cli.platform.planning.plan import Plan, make_plan
from classifeed_cli.platform.probing.probe import is_ready
from classifeed_cli.platform.supervision.units import embedded_servers, prepare_server
from classifeed_common.auth import KeyStore
from classifeed_common.embedded.ports import pick_free_port
from classifeed_common.embedded.process import spawn_bound, stop_process, tail
from classifeed_common.embedded.server import EmbeddedServer

SERVICES: Final = ("processor", "offers", "receiver", "indexer", "searcher", "moderation", "pictures")
_READY_LIMIT_S: Final = 300.0
# Texts and pictures are separate roles. Nothing is trimmed, so that each measurement starts with the same queue.
_SETTINGS: Final = {
    "CLASSIFEED_OFFERS_TEXTS_APPROVED_BY_SETTING": "true",
    "CLASSIFEED_OFFERS_PICTURES": "false",
    "CLASSIFEED_RECEIVER_TRIM_INTERVAL_S": "3600",
    "CLASSIFEED_INDEXER_CLIENTS": "offers",
}


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of a role, with its addresses."""

    process: subprocess.Popen[bytes]
    grpc: str
    log: Path
    http: str = ""


class Installation:
    """Running servers; each measurement starts and stops its processes."""

    def __init__(self, plan: Plan, servers: Sequence[EmbeddedServer]) -> None:
        self.plan = plan
        self.keys = KeyStore(plan.layout.keys)
        self.folder = plan.layout.root
        self._servers = {server.name: server for server in servers}
        self.admin = AdminClient({"bootstrap.servers": self.kafka, "log_level": 0})
        self._started = 0
        self._connections: dict[str, psycopg.Connection[tuple[object, ...]]] = {}

    @property
    def kafka(self) -> str:
        """Address of the broker."""
        return self.plan.address("kafka")

    def connection(self, service: str) -> psycopg.Connection[tuple[object, ...]]:
        """Return the bench's connection to the tables of a service, in autocommit; each service has one."""
        if service not in self._connections:
            self._connections[service] = psycopg.connect(
                self.plan.dsn(service), options=f"-c search_path={service}", autocommit=True
            )
        return self._connections[service]

    def number(self, service: str, query: str, *parameters: object) -> int:
        """Return the number that a query selects; 0 for NULL."""
        row = self.connection(service).execute(query.encode(), parameters).fetchone()
        assert row is not None
        return int(str(row[0] or 0))

    @contextmanager
    def workers(self, service: str, count: int, *arguments: str, **settings: object) -> Iterator[list[Worker]]:
        """Yield `count` ready processes of a service, started with arguments such as `work`."""
        started = [self._spawn(service, arguments, settings) for _ in range(count)]
        try:
            asyncio.run(_all_ready(started))
            yield started
        finally:
            for worker in started:
                worker.process.send_signal(signal.SIGTERM)
            for worker in started:
                stop_process(worker.process, signal.SIGTERM, 30)

    @contextmanager
    def module(self, module: str, *arguments: str) -> Iterator[Worker]:
        """Yield a process that runs a module of the bench."""
        log = self.plan.layout.log(module)
        process = spawn_bound([sys.executable, "-m", module, *arguments], log=log)
        try:
            yield Worker(process, "", log)
        finally:
            stop_process(process, signal.SIGTERM, 30)

    def cpu_s(self, part: str) -> float:
        """Return the CPU seconds of a server and its descendants, including those that have ended."""
        pid = self._servers[part].pid
        assert pid is not None
        return cpu_of_tree(pid)

    def _spawn(self, service: str, arguments: Sequence[str], settings: dict[str, object]) -> Worker:
        self._started += 1
        spec = self.plan.table.services[service]
        name = f"{service}-{self._started}"
        listeners = [f"127.0.0.1:{pick_free_port()}" for _ in range(2)]
        own = {
            "GRPC_LISTEN": listeners[0],
            "HTTP_LISTEN": listeners[1],
            "RUN_FILE": self.plan.layout.run / f"{name}.json",
            "DATA_DIR": self.plan.layout.service_data(name),
            "SPOOL_DIR": self.plan.layout.service_data(name),
            **settings,
        }
        environment = self.plan.environment(spec) | _SETTINGS | {spec.prefix + key: str(own[key]) for key in own}
        log = self.plan.layout.log(name)
        process = spawn_bound([sys.executable, "-m", spec.package, *arguments], log=log, env=environment)
        return Worker(process, listeners[0], log, listeners[1])

    def close(self) -> None:
        """Stop the servers."""
        del self.admin  # before its broker stops
        for connection in self._connections.values():
            connection.close()
        for server in self._servers.values():
            server.stop()


@contextmanager
def installation() -> Iterator[Installation]:
    """Yield running servers with the databases and topics of the suite, and remove them afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cf-bench-"))
    plan = make_plan(Layout(folder), [*SERVICES])
    servers = embedded_servers(plan)
    try:
        for server in servers:
            prepare_server(server)
            server.start(_READY_LIMIT_S)
        step = {**os.environ, PLAN_VARIABLE: describe_step(plan)}
        subprocess.run([sys.executable, "-m", "classifeed_cli.platform.planning.migrate"], env=step, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        running = Installation(plan, servers)
        try:
            yield running
        finally:
            running.close()
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def cpu_of(workers: Sequence[Worker]) -> float:
    """Return the CPU seconds of processes together."""
    return sum(cpu_of_tree(worker.process.pid) for worker in workers)


async def _all_ready(workers: Sequence[Worker]) -> None:
    ends_at = time.monotonic() + _READY_LIMIT_S
    for worker in workers:
        while not await is_ready(worker.http):
            if worker.process.poll() is not None or time.monotonic() > ends_at:
                raise RuntimeError(f"not ready: {json.dumps(tail(worker.log, 5))}")
            await asyncio.sleep(0.05)
