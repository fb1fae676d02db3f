"""The second pass: checks and maps offer by offer, and yields batches that are ready to send."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from lxml import etree

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed_processor.feed.batches import BatchFill, FinalizedBatch, RunAddress, content_hash, finalize
from classifeed_processor.feed.formats.registry import format_named
from classifeed_processor.feed.mapping.issues import IssueWriter, OfferPlace
from classifeed_processor.feed.mapping.table_mapping import MappingOptions
from classifeed_processor.feed.scanning.elements import FeedOffer
from classifeed_processor.feed.scanning.plain_offers import PLAIN_ENCODINGS, PlainRules, read_plain
from classifeed_processor.feed.scanning.safe_parser import OfferParser, disagreement, iterate_offers, syntax_fault
from classifeed_processor.feed.scanning.scan import FeedScan
from classifeed_processor.feed.scanning.shape import MAX_ID_CHARS
from classifeed_processor.feed.source.content import open_content
from classifeed_processor.feed.source.positions import read_positions
from classifeed_processor.feed.source.window import SourceWindow

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
    reader = _Reader(scan, MappingOptions(address.mode == load_pb2.LOAD_MODE_PATCH, default_currency))
    batch, batch_id, fill = OfferBatch(), 1, BatchFill()
    for element, source_bytes in reader.offers():
        if not fill.has_room(source_bytes):
            yield finalize(batch, address, batch_id)
            batch, batch_id, fill = OfferBatch(), batch_id + 1, BatchFill()
        record = batch.records.add()
        reader.fill(record, element)
        fill.add(record, source_bytes)
    if fill.records:
        yield finalize(batch, address, batch_id)


class _Reader:
    """Reads the offers of one file and fills one record for each."""

    def __init__(self, scan: FeedScan, options: MappingOptions) -> None:
        self._scan = scan
        self._limits = scan.source.limits
        self._skipped_lines = scan.opening.skip_lines
        found = format_named(scan.format)
        self._shape = found.shape
        self._mapping = found.mapping(scan, options)
        self._place = OfferPlace()
        self._size = 0
        self._id_field = found.names.id
        is_plain = scan.is_self_contained and scan.encoding in PLAIN_ENCODINGS
        self._plain = found.plain if is_plain else None
        self._issues = IssueWriter(self._place, found.names)

    def offers(self) -> Iterator[tuple[FeedOffer, int]]:
        """Yield each offer with its size in bytes; an offer is dropped when the next one is requested."""
        scan = self._scan
        positions = read_positions(scan.positions)
        with open_content(scan.source, scan.opening) as stream:
            window = SourceWindow(stream, scan.encoding, scan.opening.inserted)
            place = self._place
            place.window = window
            if self._plain is not None:
                yield from self._read_plain(window, positions, self._plain)
                return
            try:
                for element in iterate_offers(window, self._shape, scan.encoding):
                    start, end = next(positions, (-1, -1))
                    if end < 0:
                        raise disagreement(scan.offer_count, place.ordinal + 1)
                    self._begin_at(start, end)
                    if scan.has_entities:
                        self._size = max(self._size, _text_bytes(element))
                    yield element, self._size
                    window.forget_before(end)
            except etree.XMLSyntaxError as error:
                raise syntax_fault(error, self._skipped_lines) from error
        if place.ordinal != scan.offer_count:
            raise disagreement(scan.offer_count, place.ordinal)

    def _read_plain(
        self, window: SourceWindow, positions: Iterator[tuple[int, int]], rules: PlainRules
    ) -> Iterator[tuple[FeedOffer, int]]:
        """Yield offers that can be read one by one: by a pattern, or by libxml2 if needed."""
        encoding = self._scan.encoding
        parser = OfferParser(encoding)
        for start, end in positions:
            window.read_until(end)
            self._begin_at(start, end)
            source = window.piece(start, end)
            offer: FeedOffer | None = read_plain(source.decode(encoding), rules)
            if offer is None:
                try:
                    offer = parser.parse(source)
                except etree.XMLSyntaxError as error:
                    raise syntax_fault(error, self._place.line - 1) from error
            yield offer, self._size
            window.forget_before(end)

    def _begin_at(self, start: int, end: int) -> None:
        place = self._place
        place.ordinal += 1
        place.start, place.end = start, end
        place.line = place.window.line(start) + self._skipped_lines
        self._size = end - start

    def fill(self, record: OfferRecord, element: FeedOffer) -> None:
        """Fill the record of the current offer: duplicate, without an id, too large, or mapped."""
        place = self._place
        external_id = self._shape.ids.read(element)
        record.ordinal = place.ordinal
        record.line = place.line
        issues = self._issues
        if not 0 < len(external_id) <= MAX_ID_CHARS or external_id.startswith(STAND_IN):
            self._fill_unidentified(record, element, external_id)
        else:
            issues.begin(record, element, external_id)
            may_be = "E+" in external_id or external_id.startswith("#")
            is_destroyed = may_be and _DESTROYED_ID.fullmatch(external_id) is not None
            if is_destroyed:
                issues.add("ID_DESTROYED", field=self._id_field, value=external_id)
            first = self._scan.duplicates.find_first(external_id, place.ordinal, place.line)
            if first is not None:
                record.kind = offer_requests_pb2.RECORD_KIND_DUPLICATE
                record.external_id = f"{STAND_IN}{place.ordinal}"
                # Offers whose ids were destroyed have equal ids but are different.
                if not is_destroyed:
                    issues.add("DUPLICATE_ID", field=self._id_field, value=external_id, first_line=first.line)
            else:
                record.kind = offer_requests_pb2.RECORD_KIND_OFFER
                record.external_id = external_id
                if self._map(record, element):
                    record.content_hash = content_hash(record)
        issues.close()

    def _fill_unidentified(self, record: OfferRecord, element: FeedOffer, external_id: str) -> None:
        issues = self._issues
        record.kind = offer_requests_pb2.RECORD_KIND_UNIDENTIFIED
        record.external_id = f"{STAND_IN}{record.ordinal}"
        issues.begin(record, element, record.external_id)
        if external_id.startswith(STAND_IN):
            issues.add("ID_RESERVED", field=self._id_field, value=external_id)
        elif external_id:
            issues.add("ID_TOO_LONG", field=self._id_field, value=external_id, length=len(external_id))
        else:
            issues.add("ID_MISSING", field=self._id_field)
        self._map(record, element)
        record.ClearField("content")

    def _map(self, record: OfferRecord, element: FeedOffer) -> bool:
        size, limits = self._size, self._limits
        if size > limits.offer_bytes:
            self._issues.add("OFFER_TOO_LARGE", size=size, unit="bytes", limit=limits.offer_bytes)
            return False
        if len(element) > limits.offer_elements:
            self._issues.add("OFFER_TOO_LARGE", size=len(element), unit="elements", limit=limits.offer_elements)
            return False
        self._mapping.fill(record, element, self._issues)
        return True


def _text_bytes(offer: etree._Element) -> int:
    """Return the size of an offer's texts with entities resolved, in bytes."""
    texts = (text for each in offer.iter() for text in (each.text, each.tail, *each.attrib.values()))
    return sum(len(str(text).encode()) for text in texts if text)
