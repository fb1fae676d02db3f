"""The demo's own suite, in a folder that goes with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.supervision.daemon import start_detached
from classifeed_cli.platform.supervision.shutdown import stop_installation
from classifeed_cli.terminal.output import Output

_STOP_TIMEOUT_S: Final = 60
# The demo's sites are on this machine, where links are refused otherwise, and bear more requests than a shop's.
_KNOBS: Final = {
    "CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1",
    "CLASSIFEED_LOADER_MIN_INTERVAL_S": "1",
    "CLASSIFEED_PICTURES_HOST_FIRST_RATE": "20",
}


@contextmanager
def running_suite(out: Output, timeout_s: float) -> Iterator[tuple[Installation, Layout]]:
    """Give a running suite with its folder; nothing of it is left at the end of the block.

    Raises:
        CommandError: it does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="classifeed-demo-"))
    layout = Layout(folder)
    try:
        layout.prepare()
        out.progress("Starting PostgreSQL, Kafka, S3 and the services …")
        with environment(_KNOBS):
            start_detached(layout, [], timeout_s)
        installation = Installation.find(folder)
        out.say(f"The suite is up: PostgreSQL, Apache Kafka, an S3 server, and {len(installation.grpc)} services.")
        yield installation, layout
    finally:
        stop_installation(layout, _STOP_TIMEOUT_S)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the processes that the block starts, and for them alone."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
