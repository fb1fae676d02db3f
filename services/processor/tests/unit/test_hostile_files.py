"""Files made to hurt are refused, in bounded memory, each measured in a process of its own."""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import sys
from pathlib import Path
from classifeed.feeds.v1 import load_pb2
from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.first_pass import scan_feed
from classifeed_processor.feed.limits import DEFAULT_LIMITS
from classifeed_processor.feed.batches import RunAddress
from classifeed_processor.feed.second_pass import read_batches
from classifeed_processor.feed.source import open_source

path = Path(sys.argv[1])
try:
    scan = scan_feed(open_source(path, DEFAULT_LIMITS), path.parent)
    count = sum(b.records for b in read_batches(scan, RunAddress("s", "d", 1, 1, load_pb2.LOAD_MODE_REPLACE)))
    outcome = f"OK:{count}"
except FeedFault as fault:
    outcome = fault.code
# Not ru_maxrss, which begins at what the process had before exec: that of the tests.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(outcome, int(peak.split()[1]) // 1024)
"""
MIB = 1 << 20
LIMIT_MIB = 300
HEAD = b"<yml_catalog><shop><offers>"
TAIL = b"</offers></shop></yml_catalog>"


def probe(path: Path, limit_mib: int = LIMIT_MIB) -> str:
    # The address space is bounded too, so that a failure ends this process and not the machine.
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)),
    )
    outcome, memory = done.stdout.split()
    assert int(memory) < limit_mib, f"{outcome} at {memory} MiB"
    return outcome


def write(path: Path, start: bytes, fill: bytes, size: int, end: bytes = b"") -> Path:
    with path.open("wb") as file:
        file.write(start)
        block = fill * (MIB // len(fill))
        for _ in range(size // len(block)):
            file.write(block)
        file.write(end)
    return path


@pytest.mark.parametrize(
    ("start", "fill"),
    [
        pytest.param(HEAD + b'<offer id="1"><description>', b"x", id="one endless text"),
        pytest.param(HEAD + b'<offer id="1"><description><![CDATA[', b"x", id="one endless CDATA"),
        pytest.param(HEAD + b'<offer id="1"><name a="', b"x", id="one endless attribute"),
        pytest.param(HEAD + b"<!-- ", b"x", id="one endless comment"),
        pytest.param(HEAD + b'<offer id="1">', b"<a>", id="endless nesting"),
        pytest.param(HEAD + b'<offer id="1">', b"<param name='a'>b</param>", id="endless children"),
        pytest.param(HEAD, b"<other/>", id="endless strangers"),
        pytest.param(b"<yml_catalog><shop><categories>", b'<category id="1">a</category>', id="endless categories"),
    ],
)
def test_endless_pieces_are_refused(tmp_path, start, fill):
    assert probe(write(tmp_path / "feed", start, fill, 100 * MIB)) == "UNSAFE_XML"


def test_endless_different_names_are_refused(tmp_path):
    path = tmp_path / "feed"
    with path.open("wb") as file:
        file.write(HEAD)
        for number in range(1_000_000):
            file.write(b'<offer id="%d"><t%d/></offer>' % (number, number))
        file.write(TAIL)
    assert probe(path) == "UNSAFE_XML"


@pytest.mark.parametrize("fill", [b"\0", b" "])
def test_ten_gigabytes_in_an_archive_are_refused(tmp_path, fill):
    path = tmp_path / "feed.gz"
    member = gzip.compress(fill * (64 * MIB), 1)
    with path.open("wb") as file:
        file.write(gzip.compress(HEAD))
        for _ in range(160):
            file.write(member)
    assert probe(path) in {"FILE_TOO_LARGE", "UNSAFE_XML", "MALFORMED_XML"}


@pytest.mark.slow
def test_memory_is_flat_over_many_offers(tmp_path):
    path = tmp_path / "feed"
    block = b"".join(
        b'<offer id="%d"><name>n</name><price>1</price><currencyId>RUB</currencyId></offer>\n' % number
        for number in range(10_000)
    )
    with path.open("wb") as file:
        file.write(HEAD)
        for _ in range(50):
            file.write(block)
        file.write(TAIL)
    assert probe(path, limit_mib=100) == "OK:500000"
