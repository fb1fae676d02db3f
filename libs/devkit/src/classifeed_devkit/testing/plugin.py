"""The pytest plugin with all shared fixtures (`-p classifeed_devkit.testing.plugin`)."""

from __future__ import annotations

import os

from classifeed_devkit.embedded.ports import RANGE_VARIABLE, range_of_part

pytest_plugins = [
    "classifeed_devkit.testing.servers",
    "classifeed_devkit.testing.databases",
    "classifeed_devkit.testing.tcp_proxy",
    "classifeed_devkit.testing.topics",
    "classifeed_devkit.testing.rpc",
    "classifeed_devkit.testing.properties",
]


def pytest_configure() -> None:
    """Give each process of a parallel run a separate range of ports for the servers that it starts."""
    worker, count = os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get("PYTEST_XDIST_WORKER_COUNT")
    if worker and count and RANGE_VARIABLE not in os.environ:
        os.environ[RANGE_VARIABLE] = range_of_part(int(worker.removeprefix("gw")), int(count))
