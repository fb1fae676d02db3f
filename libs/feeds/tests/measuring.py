"""Read a file in a separate process, and measure its resources."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

# A process that has imported the reader, and forks for each file: another import would take ten times as long as most
# files. It has no threads. The child limits its own memory and time, so that a fault ends only the child.
_PROBE = """
import json
import os
import resource
import sys
import time
from pathlib import Path
from classifeed.feeds.v1 import load_pb2
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.batches import RunAddress
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.second_pass import read_batches
from classifeed_feeds.source.source import open_source

def memory(name):
    # Not ru_maxrss, which begins at what the process had before: that of the tests.
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) // 1024

def read(path, spool):
    before, began = memory("VmRSS"), time.process_time()
    try:
        scan = scan_feed(open_source(path, DEFAULT_LIMITS), spool)
        count = sum(b.records for b in read_batches(scan, RunAddress("s", "d", 1, 1, load_pb2.LOAD_MODE_REPLACE)))
        outcome, message = f"OK:{count}", ""
    except FeedFault as fault:
        outcome, message = fault.code, fault.message
    took, peak = time.process_time() - began, memory("VmHWM")
    return outcome, peak, peak - before, took, message

for line in sys.stdin:
    path, naive = json.loads(line)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
        exec(naive)
        print(json.dumps(read(Path(path), Path(path).parent)), flush=True)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        print(json.dumps(status), flush=True)
"""


class Measured(NamedTuple):
    """Outcome of a file.

    Attributes:
        outcome: OK with the number of records, or the code of the fault.
        peak_mib: Peak memory of the process, in MiB.
        growth_mib: Peak memory minus the memory before the file, in MiB.
        cpu_s: CPU time of the file, in seconds.
        message: Text of the fault.
    """

    outcome: str
    peak_mib: int
    growth_mib: int
    cpu_s: float
    message: str


def measure(path: Path, naive: str = "") -> Measured:
    """Read a file with both passes of a load; `naive` is code that breaks a part of the reader before.

    Raises:
        AssertionError: the process died.
    """
    probe = _probe()
    assert probe.stdin is not None
    assert probe.stdout is not None
    probe.stdin.write(json.dumps([str(path), naive]) + "\n")
    probe.stdin.flush()
    found = json.loads(probe.stdout.readline())
    assert isinstance(found, list), f"the process ended with {found}"
    return Measured(*found)


@cache
def _probe() -> subprocess.Popen[str]:
    probe = subprocess.Popen([sys.executable, "-c", _PROBE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(probe.kill)
    return probe
