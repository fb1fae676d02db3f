"""The processor with a faulty library: some files raise an unexpected exception in its reader, others kill it.

`python faulty_processor.py` works as `python -m classifeed_processor` does.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from classifeed_common.runner import main
from classifeed_feeds.scanning.scan import FeedScan
from classifeed_processor.app.runs import send_run
from classifeed_processor.bootstrap import SERVICE, build, prepare
from classifeed_processor.settings import ProcessorSettings

RAISES, KILLS = "raises in the reader", "kills the reader"
_scan = send_run._scan


def scan(path: Path) -> FeedScan:
    """Read a file, unless its first 4 KiB contain a command for a fault."""
    with path.open("rb") as file:
        start = file.read(4096)
    if RAISES.encode() in start:
        raise OverflowError("unsigned int is greater than maximum")
    if KILLS.encode() in start:
        time.sleep(1.0)  # while it takes all memory
        os.kill(os.getpid(), signal.SIGKILL)
    return _scan(path)


if __name__ == "__main__":
    send_run._scan = scan
    main(SERVICE, ProcessorSettings, build, "classifeed_processor", prepare=prepare)
