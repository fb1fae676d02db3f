"""The second pass: checks and maps offer by offer, and yields batches that are ready to send."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from lxml import etree

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed_feeds.batches import BatchFill, FinalizedBatch, RunAddress, content_hash, finalize
from classifeed_feeds.formats.registry import format_named
from classifeed_feeds.mapping.issues import IssueWriter
from classifeed_feeds.mapping.table_mapping import MappingOptions
from classifeed_feeds.scanning.elements import FeedOffer, LocatedOffer
from classifeed_feeds.scanning.plain_offers import PLAIN_ENCODINGS, PlainRules, read_plain
from classifeed_feeds.scanning.safe_parser import OfferParser, disagreement, iterate_offers, syntax_fault
from classifeed_feeds.scanning.scan import FeedScan
from classifeed_feeds.scanning.shape import MAX_ID_CHARS
from classifeed_feeds.source.content import open_content
from classifeed_feeds.source.positions import read_positions
from classifeed_feeds.source.window import SourceWindow

# Offers without a usable id, and duplicates, get this prefix and their number as id.
STAND_IN = "record:"
# A spreadsheet's notation of a long number, and its text for a failed formula.
_DESTROYED_ID = re.compile(
    r"[1-9](?:[.,][0-9]{1,14})?E\+[0-9]{2}"
    r"|#(?:N/A|REF!|NAME\?|VALUE!|DIV/0!|NUM!|NULL!|Н/Д|ССЫЛКА!|ИМЯ\?|ЗНАЧ!|ДЕЛ/0!|ЧИСЛО!|ПУСТО!)|#{3,}"
)


def read_batches(
    scan: FeedScan, address: RunAddress, *, default_currency: str = ""
) -> Generator[FinalizedBatch, None, None]:
    """Yield the batches of a run, numbered from 1, each with its digest.

    Deterministic: the same file yields the same records in the same batches in every run. Blocks on the disk. Memory
    holds one batch and one piece of the file. Use the generator in one thread only.

    Args:
        scan: Result of the first pass.
        address: Common fields of the run's batches.
        default_currency: ISO code for amounts without a currency; empty: none.

    Raises:
        FeedFault: MALFORMED_XML, libxml2 rejects something that the first pass accepted.
    """
    scan.duplicates.rewind()
    options = MappingOptions(address.mode == load_pb2.LOAD_MODE_PATCH, default_currency)
    with open_content(scan.source, scan.opening) as stream:
        window = SourceWindow(stream, scan.encoding, scan.opening.inserted)
        make_record = _RecordMaker(scan, window, options)
        batch, batch_id, fill = OfferBatch(), 1, BatchFill()
        for offer in _read_offers(scan, window):
            if not fill.has_room(offer.size_bytes):
                yield finalize(batch, address, batch_id)
                batch, batch_id, fill = OfferBatch(), batch_id + 1, BatchFill()
            record = batch.records.add()
            make_record(record, offer)
            fill.add(record, offer.size_bytes)
    if fill.records:
        yield finalize(batch, address, batch_id)


def _read_offers(scan: FeedScan, window: SourceWindow) -> Iterator[LocatedOffer]:
    """Yield each offer of the file; its element is dropped when the next one is requested."""
    rules = format_named(scan.format).plain
    if rules is not None and scan.is_self_contained and scan.encoding in PLAIN_ENCODINGS:
        return _read_plain(scan, window, rules)
    return _read_parsed(scan, window)


def _read_plain(scan: FeedScan, window: SourceWindow, rules: PlainRules) -> Iterator[LocatedOffer]:
    """Yield offers that can be read one by one: by a pattern, or by libxml2 if needed."""
    encoding, skipped_lines = scan.encoding, scan.opening.skip_lines
    parser = OfferParser(encoding)
    for ordinal, (start, end) in enumerate(read_positions(scan.positions), 1):
        window.read_until(end)
        line = window.line(start) + skipped_lines
        source = window.piece(start, end)
        element: FeedOffer | None = read_plain(source.decode(encoding), rules)
        if element is None:
            try:
                element = parser.parse(source)
            except etree.XMLSyntaxError as error:
                raise syntax_fault(error, line - 1) from error
        yield LocatedOffer(element, ordinal, line, start, end, end - start)
        window.forget_before(end)


def _read_parsed(scan: FeedScan, window: SourceWindow) -> Iterator[LocatedOffer]:
    """Yield offers of which libxml2 reads the whole file."""
    skipped_lines = scan.opening.skip_lines
    positions = read_positions(scan.positions)
    ordinal = 0
    try:
        for ordinal, element in enumerate(iterate_offers(window, format_named(scan.format).shape, scan.encoding), 1):
            start, end = next(positions, (-1, -1))
            if end < 0:
                raise disagreement(scan.offer_count, ordinal)
            line = window.line(start) + skipped_lines
            size_bytes = max(end - start, _text_bytes(element)) if scan.has_entities else end - start
            yield LocatedOffer(element, ordinal, line, start, end, size_bytes)
            window.forget_before(end)
    except etree.XMLSyntaxError as error:
        raise syntax_fault(error, skipped_lines) from error
    if ordinal != scan.offer_count:
        raise disagreement(scan.offer_count, ordinal)


class _RecordMaker:
    """Fills the record of an offer: duplicate, without an id, too large, or mapped."""

    def __init__(self, scan: FeedScan, window: SourceWindow, options: MappingOptions) -> None:
        found = format_named(scan.format)
        self._duplicates = scan.duplicates
        self._limits = scan.source.limits
        self._window = window
        self._names = found.names
        self._read_id = found.shape.ids.read
        self._mapping = found.mapping(scan, options)

    def __call__(self, record: OfferRecord, offer: LocatedOffer) -> None:
        """Fill the empty record of an offer."""
        record.ordinal, record.line = offer.ordinal, offer.line
        external_id = self._read_id(offer.element)
        if not 0 < len(external_id) <= MAX_ID_CHARS or external_id.startswith(STAND_IN):
            record.kind = offer_requests_pb2.RECORD_KIND_UNIDENTIFIED
            record.external_id = f"{STAND_IN}{offer.ordinal}"
            issues = IssueWriter(offer, record.external_id, self._window, self._names)
            self._fill_unidentified(record, offer, external_id, issues)
        else:
            issues = IssueWriter(offer, external_id, self._window, self._names)
            self._fill_identified(record, offer, external_id, issues)
        issues.write(record)

    def _fill_identified(self, record: OfferRecord, offer: LocatedOffer, external_id: str, issues: IssueWriter) -> None:
        may_be = "E+" in external_id or external_id.startswith("#")
        is_destroyed = may_be and _DESTROYED_ID.fullmatch(external_id) is not None
        if is_destroyed:
            issues.add("ID_DESTROYED", field=self._names.id, value=external_id)
        first = self._duplicates.find_first(external_id, offer.ordinal, offer.line)
        if first is not None:
            record.kind = offer_requests_pb2.RECORD_KIND_DUPLICATE
            record.external_id = f"{STAND_IN}{offer.ordinal}"
            # Offers whose ids were destroyed have equal ids but are different.
            if not is_destroyed:
                issues.add("DUPLICATE_ID", field=self._names.id, value=external_id, first_line=first.line)
            return
        record.kind = offer_requests_pb2.RECORD_KIND_OFFER
        record.external_id = external_id
        if self._map(record, offer, issues):
            record.content_hash = content_hash(record)

    def _fill_unidentified(
        self, record: OfferRecord, offer: LocatedOffer, external_id: str, issues: IssueWriter
    ) -> None:
        if external_id.startswith(STAND_IN):
            issues.add("ID_RESERVED", field=self._names.id, value=external_id)
        elif external_id:
            issues.add("ID_TOO_LONG", field=self._names.id, value=external_id, length=len(external_id))
        else:
            issues.add("ID_MISSING", field=self._names.id)
        self._map(record, offer, issues)
        record.ClearField("content")

    def _map(self, record: OfferRecord, offer: LocatedOffer, issues: IssueWriter) -> bool:
        """Fill the content of a record, and return whether the offer was small enough for it."""
        size, elements, limits = offer.size_bytes, len(offer.element), self._limits
        if size > limits.offer_bytes:
            issues.add("OFFER_TOO_LARGE", size=size, unit="bytes", limit=limits.offer_bytes)
            return False
        if elements > limits.offer_elements:
            issues.add("OFFER_TOO_LARGE", size=elements, unit="elements", limit=limits.offer_elements)
            return False
        self._mapping.fill(record, offer.element, issues)
        return True


def _text_bytes(offer: etree._Element) -> int:
    """Return the size of an offer's texts with entities resolved, in bytes."""
    texts = (text for each in offer.iter() for text in (each.text, each.tail, *each.attrib.values()))
    return sum(len(str(text).encode()) for text in texts if text)
