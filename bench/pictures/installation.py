"""PostgreSQL, Kafka and S3, and processes of the pictures service in the groups of roles of its chart."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg

from bench.kit.cpu import cpu_of_tree
from bench.kit.running import scratch
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.process import spawn_bound, stop_process, tail
from classifeed_devkit.embedded.s3 import EmbeddedS3

RESHARD: Final = ("work", "--role", "consume-requests", "--role", "watch")
PROCESS: Final = ("work", "--role", "consume-events")
PROCESS_AND_RELAY: Final = (*PROCESS, "--role", "relay")
RELAY: Final = ("work", "--role", "relay")
DOWNLOAD: Final = ("work", "--role", "consume-downloads", "--role", "work", "--role", "reap")
SERVE: Final = ("serve",)
_BUCKET: Final = "bench-pictures"
_START_S: Final = 120.0
_STOP_S: Final = 30.0


@dataclass(frozen=True)
class Running:
    """A process of the pictures service.

    Attributes:
        process: The process.
        http: Its HTTP address.
    """

    process: subprocess.Popen[bytes]
    http: str


class Installation:
    """The servers, a database with the tables of pictures, and processes of the service.

    Args:
        folder: an empty folder for all files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.postgres = EmbeddedPostgres(folder / "postgres", password=secrets.token_urlsafe(16))
        self.kafka = EmbeddedKafka(folder / "kafka")
        self.s3 = EmbeddedS3(folder / "s3", access_key="bench", secret_key=secrets.token_urlsafe(16))
        self.dsn = self.postgres.dsn_of("pictures")
        self.environment = os.environ | {
            f"CLASSIFEED_PICTURES_{name}": value
            for name, value in {
                "DSN": self.dsn,
                "KAFKA_BOOTSTRAP": self.kafka.bootstrap,
                "S3_ENDPOINT": self.s3.endpoint,
                "S3_ACCESS_KEY": self.s3.access_key,
                "S3_SECRET_KEY": self.s3.secret_key,
                "BUCKET": _BUCKET,
                "ALLOW_LOOPBACK": "true",
                "SPOOL_DIR": str(folder / "spool"),
                "LOG_LEVEL": "error",
                "DRAIN_NOTICE_S": "0",
            }.items()
        }

    def start(self) -> None:
        """Start the servers, and create tables and topics."""
        servers = (self.postgres, self.kafka, self.s3)
        for server in servers:
            server.prepare()
            server.spawn()
        for server in servers:
            server.wait_ready(_START_S)
        with psycopg.connect(self.postgres.dsn, autocommit=True) as connection:
            connection.execute("CREATE DATABASE pictures")
        command = [sys.executable, "-m", "classifeed_pictures", "migrate"]
        subprocess.run(command, check=True, env=self.environment, capture_output=True)

    def stop(self) -> None:
        """Stop the servers."""
        for server in (self.kafka, self.s3, self.postgres):
            server.stop()

    @contextmanager
    def running(self, *groups: Sequence[str]) -> Iterator[list[Running]]:
        """Yield ready processes, one for each group of roles, and stop them afterwards."""
        started: list[subprocess.Popen[bytes]] = []
        files = [self._folder / f"run-{secrets.token_hex(4)}.json" for _ in groups]
        try:
            for arguments, file in zip(groups, files, strict=True):
                environment = self.environment | {"CLASSIFEED_PICTURES_RUN_FILE": str(file)}
                command = [sys.executable, "-m", "classifeed_pictures", *arguments]
                started.append(spawn_bound(command, log=file.with_suffix(".log"), env=environment))
            yield [_wait_ready(process, file) for process, file in zip(started, files, strict=True)]
        finally:
            for process in started:
                stop_process(process, signal.SIGTERM, _STOP_S)

    def query(self, sql: str, *parameters: object) -> Any:
        """Return the first value of a query, or None."""
        with self.connect() as connection:
            row = connection.execute(sql, parameters).fetchone()
        return row[0] if row is not None else None

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection to the tables."""
        return psycopg.connect(self.dsn, options="-c search_path=pictures", autocommit=True)

    def cpu(self) -> dict[str, float]:
        """Return the seconds of CPU that each server has used."""
        pids = {"PostgreSQL": self.postgres.pid, "Kafka": self.kafka.pid, "S3": self.s3.pid}
        return {name: cpu_of_tree(pid) for name, pid in pids.items() if pid is not None}


@contextmanager
def installed() -> Iterator[Installation]:
    """Yield an installation and remove it afterwards."""
    with scratch() as folder:
        installation = Installation(folder)
        try:
            installation.start()
            yield installation
        finally:
            installation.stop()


def _wait_ready(process: subprocess.Popen[bytes], file: Path) -> Running:
    ends_at = time.monotonic() + _START_S
    while time.monotonic() < ends_at:
        if process.poll() is not None:
            raise RuntimeError(
                f"it ended with {process.returncode}: {process.args!r}\n{tail(file.with_suffix('.log'))}"
            )
        if file.exists() and (text := file.read_text()):
            address = str(json.loads(text)["http"])
            if _is_ready(address):
                return Running(process, address)
        time.sleep(0.05)
    raise RuntimeError(f"not ready within {_START_S:.0f} s: {process.args!r}")


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/health/ready", timeout=5) as response:
            return bool(response.status == 200)
    except urllib.error.URLError:
        return False
