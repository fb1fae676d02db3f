"""One suite for all end-to-end tests; sellers of their own keep them apart."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.suite import Suite


@pytest.fixture(scope="session")
def suite() -> Iterator[Suite]:
    folder = Path(tempfile.mkdtemp(prefix="cf-e2e-"))
    running = Suite(folder, {"CLASSIFEED_JOBS_LEASE_S": "4"})
    try:
        running.up()
        yield running
    finally:
        running.down()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def seller() -> str:
    return f"s{uuid.uuid4().hex[:10]}"
