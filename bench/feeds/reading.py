"""Our feed reader compared with bare lxml. As a program, it measures one side once in its process and prints JSON.

`ours`: both passes, checks, mapping and batches, as the processor runs them. `lxml`: iterparse, and validation of each
offer against the same XSD type. `bare`: iterparse alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from lxml import etree

from classifeed.feeds.v1 import load_pb2
from classifeed_devkit.testing.measuring.memory import peak_bytes
from classifeed_feeds.batches import RunAddress
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.second_pass import read_batches
from classifeed_feeds.source.limits import Limits
from classifeed_feeds.source.source import open_source


def read_ours(path: Path) -> int:
    """Count the records that our reader makes; batches are serialised as they are for Kafka."""
    offers = 0
    with tempfile.TemporaryDirectory() as spool:
        scan = scan_feed(open_source(path, Limits()), Path(spool))
        address = RunAddress("bench", "default", 1, 1, load_pb2.LOAD_MODE_REPLACE)
        for batch in read_batches(scan, address):
            offers += batch.records
    return offers


def read_lxml(path: Path, *, validate: bool = True) -> int:
    """Count the offers with lxml, each validated separately."""
    definition = files("classifeed_feeds.formats.yml") / "yml-offer.xsd"
    schema = etree.XMLSchema(etree.fromstring(definition.read_bytes()))
    offers = 0
    for _, offer in etree.iterparse(str(path), tag="offer", events=("end",), resolve_entities=False, huge_tree=True):
        if validate:
            schema.validate(offer)
        offers += 1
        offer.clear(keep_tail=False)
        while offer.getprevious() is not None:
            del offer.getparent()[0]
    return offers


SIDES: dict[str, Callable[[Path], int]] = {
    "ours": read_ours,
    "lxml": read_lxml,
    "bare": lambda path: read_lxml(path, validate=False),
}

if __name__ == "__main__":
    side, file = sys.argv[1], Path(sys.argv[2])
    started, cpu = time.perf_counter(), time.process_time()
    count = SIDES[side](file)
    print(
        json.dumps(
            {
                "offers": count,
                "seconds": time.perf_counter() - started,
                "cpu_s": time.process_time() - cpu,
                "rss_mb": peak_bytes() / 1e6,
            }
        )
    )
