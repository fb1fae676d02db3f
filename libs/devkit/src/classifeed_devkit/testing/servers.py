"""Session fixtures: real PostgreSQL, Kafka and S3, started for the first test that needs them."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.memory import free_memory_bytes
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.s3 import EmbeddedS3

_START_LIMIT_S = 300  # the machine may be busy
_MEMORY = Path("/dev/shm")  # noqa: S108 - its folders get unpredictable names
_ROOM_BYTES = 8 << 30


@contextmanager
def server_folder(name: str) -> Iterator[Path]:
    """Provide a temporary folder with a short name for data of servers, removed at the end.

    It is in memory if there is enough: creating the files of a database takes 15 ms there, and 30 to 270 ms on disks.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"cf-{name}-", dir=_memory_folder()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _memory_folder() -> Path | None:
    """Return the folder of the file system in memory; None if it or the memory lacks room."""
    try:
        free = shutil.disk_usage(_MEMORY).free
    except OSError:
        return None
    room = min(free, free_memory_bytes() or 0)
    return _MEMORY if room >= _ROOM_BYTES and os.access(_MEMORY, os.W_OK) else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """Yield an embedded PostgreSQL for the whole session; `.dsn` is the superuser's. fsync is off."""
    with server_folder("pg") as folder:
        server = EmbeddedPostgres(folder / "data", password=secrets.token_urlsafe(16), fast=True)
        try:
            yield server.start(_START_LIMIT_S)
        finally:
            server.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedKafka]:
    """Yield an embedded Kafka for the whole session; `.bootstrap` is its address.

    A fault test may `stop`, `kill` and `start` it, and must leave it running.
    """
    with server_folder("kafka") as folder:
        server = EmbeddedKafka(folder / "data")
        try:
            yield server.start(_START_LIMIT_S)
        finally:
            server.stop(timeout_s=10)


@pytest.fixture(scope="session")
def s3() -> Iterator[EmbeddedS3]:
    """Yield an embedded S3 server for the whole session; `.endpoint`, `.access_key`, `.secret_key`."""
    with server_folder("s3") as folder:
        server = EmbeddedS3(folder / "data", access_key="test", secret_key=secrets.token_urlsafe(16))
        try:
            yield server.start(_START_LIMIT_S)
        finally:
            server.stop()
