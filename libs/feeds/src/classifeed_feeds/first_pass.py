"""The first pass checks that a file is well-formed to its end, safe, and has the parts that its format needs.

No offer leaves the processor before this pass is complete, so a file that fails changes no offer. Expat reads the file
with two thin handlers. libxml2, which reads the second pass, rejects some input that expat accepts (namespaces, xml:id,
declarations in the DTD). If a file has any of these, this pass also checks it with libxml2.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.google.tags import UNDECLARED_PREFIX
from classifeed_feeds.formats.registry import format_named
from classifeed_feeds.formats.unknown_format import unknown_format, unknown_xml
from classifeed_feeds.reading import Attempt, ContentReader, EncodingMismatch, open_attempts
from classifeed_feeds.scanning.duplicates import IdHashes
from classifeed_feeds.scanning.safe_parser import check_with_libxml2, disagreement
from classifeed_feeds.scanning.scan import FeedScan, OtherFormat
from classifeed_feeds.source.content import open_content
from classifeed_feeds.source.opening import Opening
from classifeed_feeds.source.positions import PositionWriter
from classifeed_feeds.source.source import SourceFile

_SHOWN_BYTES = 4_096


def scan_feed(source: SourceFile, spool_dir: Path) -> FeedScan:
    """Check a file and return the result of the first pass.

    Deterministic. Blocks while it reads the file; writes one file of positions into `spool_dir`.

    Raises:
        FeedFault: The file cannot be loaded.
    """
    opening, attempts = open_attempts(source)
    fault: FeedFault | None = None
    for attempt in attempts:
        try:
            return _scan_with(source, opening, attempt, spool_dir / "positions")
        except EncodingMismatch as mismatch:
            fault = fault or mismatch.fault
    raise fault or FeedFault("ENCODING_WRONG", "The bytes of the file do not fit its encoding")


def _scan_with(source: SourceFile, opening: Opening, attempt: Attempt, positions_path: Path) -> FeedScan:
    ids = IdHashes()
    positions = PositionWriter(positions_path)
    with contextlib.closing(positions):
        reader = ContentReader(ids, positions, source.limits)
        content_bytes = reader.read_through(source, opening, attempt)
    format_scan = reader.format_scan
    if format_scan is None:
        with open_content(source, opening) as stream:
            raise unknown_xml(reader.root, stream.read(_SHOWN_BYTES))
    warnings = [attempt.warning] if attempt.warning else []
    if opening.inserted is not None:
        warnings.append(UNDECLARED_PREFIX)
    try:
        warnings += format_scan.finish(opening.skip_lines)
    except OtherFormat as other:
        with open_content(source, opening) as stream:
            raise unknown_format(stream.read(_SHOWN_BYTES), other.what, other.advice) from other
    if reader.wants_second_look:
        shape = format_named(format_scan.name).shape
        with open_content(source, opening) as stream:
            offers = check_with_libxml2(stream, shape, attempt.encoding, opening.skip_lines)
        if offers != format_scan.offer_count:
            raise disagreement(format_scan.offer_count, offers)
    return FeedScan(
        source=source,
        opening=opening,
        encoding=attempt.encoding,
        format=format_scan.name,
        head=format_scan.head,
        offer_count=format_scan.offer_count,
        child_tags=dict(format_scan.child_tags),
        stock_only=format_scan.stock_only,
        duplicates=ids.finish(),
        positions=positions_path,
        content_bytes=content_bytes,
        has_entities=reader.has_entities,
        is_self_contained=not reader.wants_second_look and not reader.has_namespaces,
        warnings=tuple(warnings),
    )
