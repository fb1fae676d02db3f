"""Saying in words why a file is not well-formed: a second, slower look, taken only at files that failed."""

from __future__ import annotations

from dataclasses import dataclass
from xml.parsers import expat

from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.content import CHUNK_BYTES
from classifeed_processor.feed.source import ByteStream

_CODES = expat.errors.codes
_TAG_MISMATCH = _CODES[expat.errors.XML_ERROR_TAG_MISMATCH]
_INVALID_TOKEN = _CODES[expat.errors.XML_ERROR_INVALID_TOKEN]
_CUT_OFF = {
    _CODES[name]
    for name in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
}
_WORDS = {
    _CODES[expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE]: "An attribute stands twice in one tag",
    _CODES[expat.errors.XML_ERROR_UNDEFINED_ENTITY]: "An entity such as &nbsp; is used that XML does not know",
    _CODES[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]: "Something follows after the end of the root element",
    _CODES[
        expat.errors.XML_ERROR_BAD_CHAR_REF
    ]: "A character reference such as &#0; names a character that XML forbids",
    _CODES[expat.errors.XML_ERROR_MISPLACED_XML_PI]: "An XML declaration stands in the middle of the file",
    _CODES[expat.errors.XML_ERROR_UNBOUND_PREFIX]: "A tag has a prefix that was never declared",
}
_STACK = 64


@dataclass(frozen=True, slots=True)
class _Open:
    name: str
    line: int


def explain(stream: ByteStream, encoding: str, skipped_lines: int) -> FeedFault:
    """Returns the fault of a file that the first pass found not well-formed.

    Reads the stream up to the fault; deterministic.

    Args:
        stream: The content from its beginning.
        encoding: What the first pass forced on the parser.
        skipped_lines: Line breaks before the content.
    """
    parser = expat.ParserCreate(encoding, namespace_separator=" ")
    stack: list[_Open] = []
    depth = 0

    def start(name: str, _: object) -> None:
        nonlocal depth
        depth += 1
        if depth <= _STACK:
            stack.append(_Open(name.rpartition(" ")[2], parser.CurrentLineNumber + skipped_lines))

    def end(_: str) -> None:
        nonlocal depth
        if depth <= _STACK:
            stack.pop()
        depth -= 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    recent = b""
    read = 0
    error: expat.ExpatError | None = None
    while error is None:
        data = stream.read(CHUNK_BYTES)
        recent = recent[-CHUNK_BYTES:] + data
        read += len(data)
        try:
            parser.Parse(data, not data)
        except expat.ExpatError as raised:
            error = raised
        if not data:
            break
    if error is None:
        return FeedFault("MALFORMED_XML", "The file is not well-formed")
    at = len(recent) - (read - parser.ErrorByteIndex)
    reason = _reason(error.code, stack if depth <= _STACK else [], recent, at)
    return FeedFault("MALFORMED_XML", reason, line=error.lineno + skipped_lines, column=error.offset + 1)


def _reason(code: int, stack: list[_Open], recent: bytes, at: int) -> str:
    if code == _TAG_MISMATCH and stack:
        closing = recent[at : at + 60].partition(b">")[0].decode("utf-8", "replace").lstrip("</").strip()
        opened = stack[-1]
        return f"The closing tag </{closing}> does not match <{opened.name}>, which was opened on line {opened.line}"
    if code in _CUT_OFF or at >= len(recent):
        if stack:
            return f"The file ends before <{stack[-1].name}>, opened on line {stack[-1].line}, is closed: it is cut off"
        return "The file ends too early: it is cut off"
    if code == _INVALID_TOKEN:
        return _invalid_token(recent, at)
    return _WORDS.get(code, expat.errors.messages[code].capitalize())


def _invalid_token(recent: bytes, at: int) -> str:
    around = recent[max(at - 1, 0) : at + 1]
    byte = recent[at : at + 1]
    if b"&" in around:
        return "An & stands alone; in XML it is written &amp;"
    if b"<" in around:
        return "A < stands alone; in XML it is written &lt;"
    if byte and byte[0] < 0x20:
        return f"A control character (byte 0x{byte[0]:02X}) stands in the text; XML forbids it"
    if byte and byte[0] >= 0x80:
        return f"The byte 0x{byte[0]:02X} has no meaning in the file's encoding"
    return f"“{byte.decode('ascii', 'replace')}” cannot stand here"
