"""The first pass: is the file well-formed to its end, safe, and made of the parts that its format needs?

Nothing of a file leaves the processor before this pass is through, so a file that fails changes no offer at all. Bare
expat reads it with two thin handlers. What expat lets pass and libxml2, which reads the second pass, does not
(namespaces, xml:id, declarations in the DTD), is looked at once more with libxml2 where the file has any of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.content import CHUNK_BYTES, open_content
from classifeed_processor.feed.diagnosis import explain
from classifeed_processor.feed.duplicates import IdHashes
from classifeed_processor.feed.encoding import is_single_byte, looks_like_utf8, measure_utf8
from classifeed_processor.feed.limits import Limits
from classifeed_processor.feed.positions import PositionWriter
from classifeed_processor.feed.safe_parser import check_with_libxml2
from classifeed_processor.feed.scan import FeedScan, FormatScan, ScanFactory
from classifeed_processor.feed.sniff import PREFIX_BYTES, Opening, sniff, unknown_format
from classifeed_processor.feed.source import ByteStream, SourceFile
from classifeed_processor.feed.yml.scan import YmlScan, too_deep

FORMATS: Mapping[str, ScanFactory] = {"yml_catalog": YmlScan}
FALLBACK_ENCODING = "cp1251"
_AMPLIFICATION_CODE = 43
# As many characters of several bytes as a text of single bytes may hold by chance.
_CHANCE_PAIRS = 8


@dataclass(frozen=True, slots=True)
class _Attempt:
    encoding: str
    warning: str


class _EncodingMismatchError(Exception):
    """The bytes do not fit the encoding of this attempt; another one may."""

    def __init__(self, fault: FeedFault) -> None:
        self.fault = fault
        super().__init__(str(fault))


def scan_feed(source: SourceFile, spool_dir: Path) -> FeedScan:
    """Returns what the first pass learned of the file.

    Deterministic. Blocks for as long as the file takes to read; writes one file of positions into `spool_dir`.

    Raises:
        FeedFault: The file cannot be loaded.
    """
    with source.open() as stream:
        prefix = stream.read(PREFIX_BYTES)
    opening = sniff(prefix)
    fault: FeedFault | None = None
    for attempt in _attempts(opening, prefix):
        try:
            return _scan_with(source, opening, attempt, spool_dir / "positions")
        except _EncodingMismatchError as mismatch:
            fault = fault or mismatch.fault
    raise fault or FeedFault("ENCODING_WRONG", "The bytes of the file do not fit its encoding")


def _attempts(opening: Opening, prefix: bytes) -> list[_Attempt]:
    declared = _Attempt(opening.encoding, "")
    if opening.wide:
        return [declared]
    if is_single_byte(opening.encoding):
        if looks_like_utf8(prefix):
            words = f"The file is not written in {opening.declared} as it says, but in UTF-8; it was read so."
            return [_Attempt("utf-8", words), declared]
        return [declared]
    said = opening.declared or "UTF-8"
    words = f"The file is not written in {said} as it says, but in windows-1251; it was read so."
    return [declared, _Attempt(FALLBACK_ENCODING, words)]


def _scan_with(source: SourceFile, opening: Opening, attempt: _Attempt, positions_path: Path) -> FeedScan:
    ids = IdHashes()
    positions = PositionWriter(positions_path)
    with contextlib.closing(positions):
        reader = _Reader(ids, positions, source.limits)
        try:
            with open_content(source, opening) as stream:
                content_bytes = reader.read(stream, attempt.encoding)
        except expat.ExpatError as error:
            raise _fault_of(error, reader, source, opening, attempt) from error
    format_scan = reader.format_scan
    if format_scan is None:
        with open_content(source, opening) as stream:
            raise unknown_format(stream.read(200), f"XML with the root <{reader.root}>, which is no known format")
    warnings = [attempt.warning] if attempt.warning else []
    warnings += format_scan.finish()
    if reader.wants_second_look:
        with open_content(source, opening) as stream:
            check_with_libxml2(stream, "offer", attempt.encoding, opening.skip_lines)
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
        warnings=tuple(warnings),
    )


def _fault_of(
    error: expat.ExpatError, reader: _Reader, source: SourceFile, opening: Opening, attempt: _Attempt
) -> Exception:
    if error.code == _AMPLIFICATION_CODE:
        return FeedFault(
            "UNSAFE_XML", "The file's entities grow without measure", line=error.lineno + opening.skip_lines
        )
    with open_content(source, opening) as stream:
        fault = explain(stream, attempt.encoding, opening.skip_lines)
    if is_single_byte(attempt.encoding) or opening.wide:
        return fault
    with open_content(source, opening) as stream:
        measure = measure_utf8(stream, reader.error_offset)
    if not 0 <= measure.bad_offset <= reader.error_offset + 4:
        return _EncodingMismatchError(fault) if attempt.warning else fault
    words = f"A byte of the file does not fit its encoding {opening.declared or 'UTF-8'}"
    wrong = FeedFault("ENCODING_WRONG", words, line=fault.line, column=fault.column)
    # A text that was UTF-8 so far has a broken place; one that never was is of another encoding.
    return _EncodingMismatchError(wrong) if measure.multibyte <= _CHANCE_PAIRS or attempt.warning else wrong


class _Reader:
    """Feeds expat, holds the limits, and hands over to the format's scan at the root."""

    def __init__(self, ids: IdHashes, positions: PositionWriter, limits: Limits) -> None:
        self._ids = ids
        self._positions = positions
        self._limits = limits
        self.root = ""
        self.format_scan: FormatScan | None = None
        self.wants_second_look = False
        self.error_offset = 0

    def read(self, stream: ByteStream, encoding: str) -> int:
        """Reads the content to its end and returns its size."""
        parser = expat.ParserCreate(encoding or None, namespace_separator=" ")
        parser.StartElementHandler = self._root_handler(parser)
        parser.EntityDeclHandler = _refuse_outer_entity
        parser.StartNamespaceDeclHandler = self._notice
        parser.StartDoctypeDeclHandler = self._notice_doctype
        parser.XmlDeclHandler = self._notice_version
        limits = self._limits
        fed = 0
        last = b""
        while data := stream.read(CHUNK_BYTES):
            fed += len(data)
            if b"xml:" in data or b"xml:" in last[-3:] + data[:3]:
                self.wants_second_look = True
            last = data
            self._feed(parser, data)
            if fed - parser.CurrentByteIndex > limits.token_bytes:
                raise FeedFault(
                    "UNSAFE_XML",
                    f"One tag or comment has more than {limits.token_bytes:,} bytes",
                    line=parser.CurrentLineNumber,
                )
            self._check_sizes(parser)
        self._feed(parser, b"", final=True)
        return fed

    def _feed(self, parser: expat.XMLParserType, data: bytes, *, final: bool = False) -> None:
        try:
            parser.Parse(data, final)
        except expat.ExpatError:
            self.error_offset = parser.ErrorByteIndex
            raise

    def _check_sizes(self, parser: expat.XMLParserType) -> None:
        limits = self._limits
        if len(parser.intern) > limits.names:
            raise FeedFault(
                "UNSAFE_XML", f"The file uses more than {limits.names:,} different names of tags and attributes"
            )
        scan = self.format_scan
        if scan is None:
            return
        limit = limits.element_bytes if scan.inside_offer else limits.head_bytes
        if parser.CurrentByteIndex - scan.boundary > limit:
            where = "One offer" if scan.inside_offer else "What stands outside of offers"
            raise FeedFault("UNSAFE_XML", f"{where} takes more than {limit:,} bytes", line=parser.CurrentLineNumber)

    def _root_handler(self, parser: expat.XMLParserType) -> Callable[[str, dict[str, str]], None]:
        depth = 0

        def start(name: str, _: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > 1:
                if depth > self._limits.depth:
                    raise too_deep(parser, self._limits.depth)
                return
            self.root = name.rpartition(" ")[2]
            factory = FORMATS.get(name)
            if factory is not None:
                self.format_scan = factory(self._ids, self._positions, self._limits)
                self.format_scan.attach(parser)

        def end(_: str) -> None:
            nonlocal depth
            depth -= 1

        parser.EndElementHandler = end
        return start

    def _notice(self, *_: object) -> None:
        self.wants_second_look = True

    def _notice_doctype(self, _name: str, _system: str | None, _public: str | None, has_internal_subset: int) -> None:
        self.wants_second_look |= bool(has_internal_subset)

    def _notice_version(self, version: str, _encoding: str | None, _standalone: int) -> None:
        self.wants_second_look |= version != "1.0"


def _refuse_outer_entity(
    name: str, _parameter: int, _value: str | None, _base: str | None, system_id: str | None, *_: object
) -> None:
    if system_id is not None:
        raise FeedFault("UNSAFE_XML", f"The entity {name} points to something outside of the file")
