"""Session fixtures: real PostgreSQL, Kafka and S3, started when the first test asks and stopped by process id."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from classifeed_common.embedded.kafka import EmbeddedKafka
from classifeed_common.embedded.postgres import EmbeddedPostgres
from classifeed_common.embedded.s3 import EmbeddedS3

_START_LIMIT_S = 300  # a machine may be busy with something else


@contextmanager
def server_folder(name: str) -> Iterator[Path]:
    """Give a short-named temporary folder, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"cf-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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

    A fault test may `stop`, `kill` and `start` it, and leaves it running.
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
