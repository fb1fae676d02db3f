"""Read a file like the processor, and check all promises of the readers."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
import traceback
from pathlib import Path
from types import TracebackType

from classifeed.feeds.v1 import load_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed_common.kafka import MAX_MESSAGE_BYTES
from classifeed_feeds.batches import RunAddress
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.locate import locate_offer
from classifeed_feeds.scanning.scan import FeedScan, require_mode
from classifeed_feeds.second_pass import read_batches
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.source.source import SourceFile, open_source

# Limits for a file of at most a few hundred kilobytes; the goal is 1 s, on a machine that may be ten times slower.
_CPU_S = 20.0
_GROWTH_MIB = 64


class Broken(AssertionError):
    """A broken promise that raises no other exception."""


class Reader:
    """Reads inputs sequentially, in one folder."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.outcomes: dict[str, int] = {}
        self.slowest_s = self.largest_mib = 0.0

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def read(self, data: bytes, number: int) -> None:
        """Read one input with both passes and locate an offer; raise any unexpected result."""
        (self._folder / "source").write_bytes(data)
        before, began = _begin_measuring(), time.process_time()
        outcome = "loaded"
        try:
            self._load(number)
        except FeedFault as fault:
            _check_words(fault)
            outcome = fault.code
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        took = time.process_time() - began
        growth = _memory_mib("VmHWM") - before
        self.slowest_s, self.largest_mib = max(self.slowest_s, took), max(self.largest_mib, growth)
        if took > _CPU_S:
            raise Broken(f"processor time of {took:.0f} s")
        if growth > _GROWTH_MIB:
            raise Broken(f"memory of {growth:.0f} MiB more")

    def _load(self, number: int) -> None:
        path = self._folder / "source"
        source = open_source(path, DEFAULT_LIMITS)
        try:
            scan = scan_feed(source, self._folder)
        except FeedFault:
            locate_offer(source, self._folder, "a")
            raise
        mode = load_pb2.LOAD_MODE_PATCH if number % 3 == 0 else load_pb2.LOAD_MODE_REPLACE
        for warning in scan.warnings:
            _check_text(warning)
        try:
            records = _records(scan, mode)
        except FeedFault as fault:
            raise Broken(f"the second pass refuses what the first one took: {fault}") from fault
        if len(records) != scan.offer_count:
            raise Broken(f"{scan.offer_count} offers were counted, and {len(records)} came")
        if number % 7 == 0 and [each.SerializeToString(deterministic=True) for each in _records(scan, mode)] != [
            each.SerializeToString(deterministic=True) for each in records
        ]:
            raise Broken("a second run of the same file gives other records")
        self._locate(source, records)
        require_mode(scan, mode)

    def _locate(self, source: SourceFile, records: list[OfferRecord]) -> None:
        named = next((record for record in records if not record.external_id.startswith("record:")), None)
        if named is None:
            return
        places = locate_offer(source, self._folder, named.external_id)
        if not places or (places[0].ordinal, places[0].line) != (named.ordinal, named.line):
            raise Broken(f"{named.external_id!r} of line {named.line} is looked for and not found there: {places[:1]}")
        for place in places:
            _check_text(place.excerpt)


def _records(scan: FeedScan, mode: load_pb2.LoadMode) -> list[OfferRecord]:
    records: list[OfferRecord] = []
    for batch in read_batches(scan, RunAddress("shop", "default", 1, 1, mode)):
        if len(batch.value) > MAX_MESSAGE_BYTES - 2048:
            raise Broken(f"a batch of {len(batch.value)} bytes cannot be sent")
        records += OfferBatch.FromString(batch.value).records
    for before, record in itertools.pairwise(records):
        if record.ordinal != before.ordinal + 1 or record.line < before.line:
            raise Broken("records are not in the order of the file")
    for error in (error for record in records for error in record.errors):
        for text in (error.external_id, error.field, error.path, error.excerpt, error.value, error.message):
            _check_text(text)
    return records


def _check_words(fault: FeedFault) -> None:
    for text in (fault.describe(is_fetched=True), fault.describe(is_fetched=False)):
        _check_text(text)
        if not all(line.isprintable() for line in text.split("\n")):
            raise Broken(f"a fault with control characters: {text!r}")
        if len(text) > 4000:
            raise Broken(f"a fault of {len(text)} characters")


def _check_text(text: str) -> None:
    """Return text that the database cannot store."""
    if "\0" in text:
        raise Broken("a zero byte in a text")
    text.encode()


def _begin_measuring() -> float:
    """Return the memory of this process in MiB, and reset its peak."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory_mib("VmRSS")


def _memory_mib(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status[status.index(name) :].split(maxsplit=2)[1]) / 1024


def signature(error: BaseException) -> str:
    """Return the identity of a fault: its type, and its place in our code."""
    if isinstance(error, Broken):
        return f"Broken: {str(error).split(' of ')[0][:60]}"
    frames = traceback.extract_tb(_trace(error))
    ours = [frame for frame in frames if "classifeed_feeds" in frame.filename] or list(frames)
    last = ours[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def _trace(error: BaseException) -> TracebackType | None:
    return error.__traceback__
