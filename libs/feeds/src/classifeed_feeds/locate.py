"""Locate an offer in a file: its position and its first characters, by one pass of expat."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.mapping.issues import EXCERPT_CHARS, excerpt_of
from classifeed_feeds.reading import Attempt, ContentReader, EncodingMismatch, open_attempts
from classifeed_feeds.source.content import CHUNK_BYTES, open_content
from classifeed_feeds.source.opening import Opening
from classifeed_feeds.source.positions import PositionWriter, read_positions
from classifeed_feeds.source.source import SourceFile
from classifeed_feeds.source.window import SourceWindow

# Size of an excerpt whose characters take four bytes each.
_EXCERPT_BYTES = 4 * EXCERPT_CHARS


@dataclass(frozen=True, slots=True)
class Place:
    """Place of an offer in the file.

    Attributes:
        ordinal: Number of the offer in the file, from 1.
        line: Line in the file, from 1.
        column: Column in characters, from 1.
        excerpt: First characters of the offer, with runs of blanks collapsed.
    """

    ordinal: int
    line: int
    column: int
    excerpt: str


def locate_offer(source: SourceFile, spool_dir: Path, external_id: str, limit: int = 20) -> list[Place]:
    """Return the places of the offers with this id, in the file's order.

    Ids are read as in both passes of a load. A file that is cut off, or that could not be loaded, yields the places
    before its fault. Deterministic. Blocks while it reads the file, at the speed of the first pass; writes one file of
    positions into `spool_dir`.

    Args:
        source: The file.
        spool_dir: An empty folder for this call.
        external_id: The seller's id; blanks around it are ignored.
        limit: Maximum number of places; the file is read no further than the last of them.
    """
    try:
        opening, attempts = open_attempts(source)
    except FeedFault:
        return []
    found: list[Place] = []
    for attempt in attempts:
        wanted = _WantedId(external_id.strip(), limit)
        mismatch = _read(source, opening, attempt, wanted, spool_dir / "positions")
        found = found or _describe(source, opening, attempt, _ranges(wanted.offers, spool_dir / "positions"))
        if not mismatch:
            break
    return found


class _Enough(Exception):
    """The maximum number of places was found."""


class _WantedId:
    """Records number and first byte of the offers with one id."""

    def __init__(self, external_id: str, limit: int) -> None:
        self._external_id = external_id
        self._limit = limit
        self.offers: list[tuple[int, int]] = []

    def add(self, external_id: str, ordinal: int, offset: int, /) -> None:
        """Check an id of the file."""
        # Stop at the offer after the last place, so that the end of the last offer is known.
        if len(self.offers) >= self._limit:
            raise _Enough
        if external_id == self._external_id:
            self.offers.append((ordinal, offset))


def _read(source: SourceFile, opening: Opening, attempt: Attempt, wanted: _WantedId, positions_path: Path) -> bool:
    """Read up to a fault or the last place; return whether to try another encoding."""
    positions = PositionWriter(positions_path)
    with contextlib.closing(positions), contextlib.suppress(_Enough, FeedFault):
        try:
            ContentReader(wanted, positions, source.limits).read_through(source, opening, attempt)
        except EncodingMismatch:
            return True
    return False


def _ranges(offers: list[tuple[int, int]], positions_path: Path) -> list[tuple[int, int, int]]:
    """Return number, first byte and end of the excerpt of each offer; a cut-off offer gets the longest excerpt."""
    ranges = []
    complete = enumerate(read_positions(positions_path), 1) if offers else iter(())
    for ordinal, start in offers:
        _, (_, end) = next((row for row in complete if row[0] == ordinal), (ordinal, (start, start + _EXCERPT_BYTES)))
        ranges.append((ordinal, start, min(end, start + _EXCERPT_BYTES)))
    return ranges


def _describe(
    source: SourceFile, opening: Opening, attempt: Attempt, ranges: list[tuple[int, int, int]]
) -> list[Place]:
    """Convert byte offsets to lines, columns and excerpts by a second read up to the last offset."""
    places = []
    with open_content(source, opening) as stream, contextlib.suppress(FeedFault):
        window = SourceWindow(stream, attempt.encoding, opening.inserted)
        read = 0
        for ordinal, start, end in ranges:
            window.forget_before(start)
            while read < end and (data := window.read(CHUNK_BYTES)):
                read += len(data)
            line = window.line(start) + opening.skip_lines
            places.append(Place(ordinal, line, window.column(start), excerpt_of(window.text(window.piece(start, end)))))
    return places
