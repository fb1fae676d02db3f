"""Reading a file in a process of its own, with what that cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# The child bounds its own address space, so that a failure ends it and not the machine. A `preexec_fn` would fork this
# process, whose other threads may hold locks of gRPC.
_PROBE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import sys
import time
from pathlib import Path
from classifeed.feeds.v1 import load_pb2
from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.batches import RunAddress
from classifeed_processor.feed.first_pass import scan_feed
from classifeed_processor.feed.source.limits import DEFAULT_LIMITS
from classifeed_processor.feed.second_pass import read_batches
from classifeed_processor.feed.source.source import open_source

def memory(name):
    # Not ru_maxrss, which begins at what the process had before exec: that of the tests.
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) // 1024

path, spool = Path(sys.argv[1]), Path(sys.argv[2])
exec(sys.argv[3])
before, began = memory("VmRSS"), time.process_time()
try:
    scan = scan_feed(open_source(path, DEFAULT_LIMITS), spool)
    count = sum(b.records for b in read_batches(scan, RunAddress("s", "d", 1, 1, load_pb2.LOAD_MODE_REPLACE)))
    outcome, message = f"OK:{count}", ""
except FeedFault as fault:
    outcome, message = fault.code, fault.message
took, peak = time.process_time() - began, memory("VmHWM")
print(outcome, peak, peak - before, took, message.replace("\\n", " "), sep="\\t")
"""


class Measured(NamedTuple):
    """What became of a file.

    Attributes:
        outcome: OK with the number of records, or the code of the fault.
        peak_mib: Most memory that the process had.
        growth_mib: The same beyond what it had before the file.
        cpu_s: Processor time that the file took.
        message: Words of the fault.
    """

    outcome: str
    peak_mib: int
    growth_mib: int
    cpu_s: float
    message: str


def measure(path: Path, naive: str = "") -> Measured:
    """Read a file with both passes as a load does; `naive` is code that breaks a part of the reader before."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(path), str(path.parent), naive],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome, peak, growth, took, message = done.stdout.rstrip("\n").split("\t")
    return Measured(outcome, int(peak), int(growth), float(took), message)
