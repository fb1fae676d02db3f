"""The suite of the demo, in a temporary folder."""

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
# The demo's sites are on the loopback, where links are refused by default. They allow more requests than a shop's site.
_KNOBS: Final = {
    "CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1",
    "CLASSIFEED_LOADER_MIN_INTERVAL_S": "1",
    "CLASSIFEED_PICTURES_HOST_FIRST_RATE": "20",
}


@contextmanager
def running_suite(out: Output, timeout_s: float) -> Iterator[tuple[Installation, Layout]]:
    """Provide a running suite with its folder. Both are removed at the end of the block.

    Raises:
        CommandError: The suite does not start.
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
    """Set environment variables during the block, for the processes that it starts."""
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
