"""Read a complete file with expat, within limits, in the first encoding that fits its bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.parsers import expat

from classifeed_feeds.diagnosis.well_formedness import explain
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.registry import find_format
from classifeed_feeds.formats.sniff import PREFIX_BYTES, sniff, unknown_encoding
from classifeed_feeds.scanning.name_limits import NameCount
from classifeed_feeds.scanning.scan import FormatScan, IdSink
from classifeed_feeds.scanning.tree_scan import too_deep
from classifeed_feeds.source.content import CHUNK_BYTES, open_content
from classifeed_feeds.source.doctype import Doctype
from classifeed_feeds.source.encoding import is_single_byte, looks_like_utf8, measure_utf8
from classifeed_feeds.source.limits import Limits
from classifeed_feeds.source.opening import Opening
from classifeed_feeds.source.parsed_bytes import ParsedBytes
from classifeed_feeds.source.positions import PositionWriter
from classifeed_feeds.source.source import ByteStream, SourceFile

FALLBACK_ENCODING = "cp1251"
_AMPLIFICATION_CODE = 43
# Maximum number of valid multi-byte sequences that a single-byte text may contain by chance.
_CHANCE_PAIRS = 8
# Namespaces that libxml2 accepts without a check.
_PLAIN_URI = re.compile(r"(https?://(?!www\.w3\.org/(XML|2000/xmlns))[A-Za-z0-9._/-]+)?")
# A reference to an entity that XML does not predefine. In an attribute, expat ignores undeclared entities if they could
# be declared outside of the file.
_OTHER_REFERENCE = re.compile(rb"&(?!amp;|lt;|gt;|quot;|apos;|#)")


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to read a file in one encoding.

    Attributes:
        encoding: Encoding that is set for the parser.
        warning: Warning for the seller if the attempt succeeds; empty: none.
    """

    encoding: str
    warning: str


class EncodingMismatch(Exception):
    """The bytes do not fit the encoding of this attempt; another encoding may fit."""

    def __init__(self, fault: FeedFault) -> None:
        self.fault = fault
        super().__init__(str(fault))


def open_attempts(source: SourceFile) -> tuple[Opening, list[Attempt]]:
    """Return the opening of a file, and the encodings to try, the most likely first.

    Raises:
        FeedFault: The content is not XML, or its encoding is not supported.
    """
    with source.open() as stream:
        prefix = stream.read(PREFIX_BYTES)
    opening = sniff(prefix)
    return opening, _attempts(opening, prefix)


def _attempts(opening: Opening, prefix: bytes) -> list[Attempt]:
    declared = Attempt(opening.encoding, "")
    if opening.wide:
        return [declared]
    if is_single_byte(opening.encoding):
        if looks_like_utf8(prefix):
            words = f"The file is not written in {opening.declared} as it says, but in UTF-8; it was read as such."
            return [Attempt("utf-8", words), declared]
        return [declared]
    said = opening.declared or "UTF-8"
    words = f"The file is not written in {said} as it says, but in windows-1251; it was read as such."
    return [declared, Attempt(FALLBACK_ENCODING, words)]


class ContentReader:
    """Feeds expat, enforces the limits, and passes control to the format's scan at the root.

    Attributes:
        root: Name of the root element, without its namespace.
        format_scan: Scan of the root's format; None: the root was not read yet, or has no format.
        wants_second_look: Whether libxml2, which reads the second pass, may reject something that expat accepted.
        has_entities: Whether the file declares entities, so that its offers may be longer than their source.
        has_namespaces: Whether the file declares namespaces.
        error_offset: Byte offset at which the content stopped being well-formed.
    """

    def __init__(self, ids: IdSink, positions: PositionWriter, limits: Limits) -> None:
        self._ids = ids
        self._positions = positions
        self._limits = limits
        self.root = ""
        self.format_scan: FormatScan | None = None
        self.wants_second_look = False
        self.has_entities = False
        self.has_namespaces = False
        self.error_offset = 0
        self._bytes = ParsedBytes()
        self._namespaces: set[str] = set()

    def read_through(self, source: SourceFile, opening: Opening, attempt: Attempt) -> int:
        """Read the content to its end and return its size in bytes. Blocks on the disk.

        Raises:
            FeedFault: The file cannot be loaded.
            EncodingMismatch: The bytes do not fit the encoding of this attempt; try the next one.
        """
        try:
            with open_content(source, opening) as stream:
                return self._read(stream, attempt.encoding, opening.declared)
        except FeedFault as fault:
            raise fault.below(opening.skip_lines) from fault
        except expat.ExpatError as error:
            raise _fault_of(error, self, source, opening, attempt) from error

    def _read(self, stream: ByteStream, encoding: str, declared: str) -> int:
        parser = expat.ParserCreate(encoding, namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._root_handler(parser)
        parser.StartNamespaceDeclHandler = self._note_namespace
        parser.XmlDeclHandler = self._declaration_handler(declared)
        doctype = Doctype(parser, self._limits)
        self._names = NameCount(parser, self._limits)
        fed = 0
        last = b""
        while data := stream.read(CHUNK_BYTES):
            fed += len(data)
            if b"xml:" in data or b"xml:" in last[-3:] + data[:3]:
                self.wants_second_look = True
            self._bytes.add(data, parser.CurrentByteIndex)
            self._feed(parser, data)
            if doctype.is_outer and _OTHER_REFERENCE.search(last[-6:] + data) is not None:
                self.wants_second_look = True
            last = data
            doctype.check_size()
            self._names.check()
            self._check_sizes(parser, fed)
        self._feed(parser, b"", final=True)
        self._names.check()
        self.wants_second_look |= doctype.has_subset
        self.has_entities = doctype.has_entities
        return fed

    def _feed(self, parser: expat.XMLParserType, data: bytes, *, final: bool = False) -> None:
        try:
            parser.Parse(data, final)
        except expat.ExpatError:
            self.error_offset = parser.ErrorByteIndex
            raise

    def _check_sizes(self, parser: expat.XMLParserType, fed: int) -> None:
        limits = self._limits
        at = parser.CurrentByteIndex
        is_tag = self._bytes.is_in_tag(at)
        limit = limits.tag_bytes if is_tag else limits.token_bytes
        if fed - at > limit:
            what = "tag" if is_tag else "comment"
            reason = f"One {what} has more than {limit:,} bytes"
            raise FeedFault("UNSAFE_XML", reason, line=parser.CurrentLineNumber)
        scan = self.format_scan
        if scan is None:
            return
        limit = limits.element_bytes if scan.inside_offer else limits.head_bytes
        if at - scan.boundary > limit:
            where = "One offer" if scan.inside_offer else "The part outside of offers"
            raise FeedFault("UNSAFE_XML", f"{where} takes more than {limit:,} bytes", line=parser.CurrentLineNumber)

    def _root_handler(self, parser: expat.XMLParserType) -> Callable[[str, dict[str, str]], None]:
        depth = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > 1:
                if depth > self._limits.depth:
                    raise too_deep(parser, self._limits.depth)
                return
            self.root = name.rpartition(" ")[2]
            found = find_format(name)
            if found is not None:
                self.format_scan = found.scan(self._ids, self._positions, self._limits)
                self.format_scan.attach(parser, self.root, attributes, frozenset(self._namespaces), self._bytes)
            # Only the root's namespaces are collected, because a file could declare any number of them.
            parser.StartNamespaceDeclHandler = self._notice_namespace

        def end(_: str) -> None:
            nonlocal depth
            depth -= 1

        parser.EndElementHandler = end
        return start

    def _note_namespace(self, prefix: str | None, uri: str | None) -> None:
        self._namespaces.add(uri or "")
        self._notice_namespace(prefix, uri)

    def _notice_namespace(self, _: str | None, uri: str | None) -> None:
        self.has_namespaces = True
        self._names.check_namespace(uri or "")
        self.wants_second_look |= _PLAIN_URI.fullmatch(uri or "") is None

    def _declaration_handler(self, declared: str) -> Callable[[str, str | None, int], None]:
        def check(version: str, encoding: str | None, _standalone: int) -> None:
            self.wants_second_look |= version != "1.0"
            if (encoding or "") != declared:
                # The encoding from the first bytes is set for both parsers; expat has read another one here.
                raise unknown_encoding(encoding or "")

        return check


def _fault_of(
    error: expat.ExpatError, reader: ContentReader, source: SourceFile, opening: Opening, attempt: Attempt
) -> Exception:
    if error.code == _AMPLIFICATION_CODE:
        return FeedFault(
            "UNSAFE_XML", "The file's entities expand without limit", line=error.lineno + opening.skip_lines
        )
    with open_content(source, opening) as stream:
        fault = explain(stream, attempt.encoding, opening.skip_lines)
    if is_single_byte(attempt.encoding) or opening.wide:
        return fault
    with open_content(source, opening) as stream:
        measure = measure_utf8(stream, reader.error_offset)
    if not 0 <= measure.bad_offset <= reader.error_offset + 4:
        return EncodingMismatch(fault) if attempt.warning else fault
    words = f"A byte of the file does not fit its encoding {opening.declared or 'UTF-8'}"
    wrong = FeedFault("ENCODING_WRONG", words, line=fault.line, column=fault.column)
    # A file with many valid UTF-8 sequences is damaged UTF-8; one without them has another encoding.
    return EncodingMismatch(wrong) if measure.multibyte <= _CHANCE_PAIRS or attempt.warning else wrong
