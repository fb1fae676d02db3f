"""Explain why a file is not well-formed, by a second, slower parse of files that failed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from classifeed_feeds.diagnosis.bare_ampersands import BareAmpersands
from classifeed_feeds.diagnosis.child_offsets import LineColumn
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.content import CHUNK_BYTES
from classifeed_feeds.source.entities import undefined_entity
from classifeed_feeds.source.source import ByteStream

_CODES = expat.errors.codes
_TAG_MISMATCH = _CODES[expat.errors.XML_ERROR_TAG_MISMATCH]
_INVALID_TOKEN = _CODES[expat.errors.XML_ERROR_INVALID_TOKEN]
_UNDEFINED_ENTITY = _CODES[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
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
    _CODES[expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE]: "A tag has the same attribute twice",
    _CODES[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]: "Something follows after the end of the root element",
    _CODES[
        expat.errors.XML_ERROR_BAD_CHAR_REF
    ]: "A character reference such as &#0; names a character that XML forbids",
    _CODES[expat.errors.XML_ERROR_MISPLACED_XML_PI]: "There is an XML declaration in the middle of the file",
    _CODES[expat.errors.XML_ERROR_UNBOUND_PREFIX]: "A tag has a prefix that was never declared",
}
_STACK = 64
_TAIL_CHARS: Final = 100
_AROUND_CHARS: Final = 20
# An & that the parser took for the beginning of a reference, up to the character at which the reference is invalid.
_BARE: Final = re.compile(rb"&#?[A-Za-z0-9._:\x80-\xff-]{0,60}\Z")
_ENTITY: Final = re.compile(rb"&([A-Za-z_:\x80-\xff][A-Za-z0-9._:\x80-\xff-]{0,80});")
_FIX_CUT_OFF: Final = (
    "Export the file again, and load it when the export is complete; a program that makes it should write it under "
    "another name and rename it when it is done."
)
_FIX_BARE: Final = (
    "Write &amp; for each & in texts and links, such as H&amp;M or ?a=1&amp;b=2; a program that writes XML does so "
    "automatically."
)
_FIX_LESS: Final = "Write &lt; for each < in texts; a program that writes XML does so automatically."


@dataclass(frozen=True, slots=True)
class _Open:
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class _Reason:
    """Reason why a file is not well-formed.

    Attributes:
        words: Description of the fault.
        fix: Fix; empty: the suggestion of the code applies.
        before: Number of characters between the fault and the position that expat reports.
        bare: Index of the bare & in the bytes read last; -1: there is none.
    """

    words: str
    fix: str = ""
    before: int = 0
    bare: int = -1


def explain(stream: ByteStream, encoding: str, skipped_lines: int) -> FeedFault:
    """Return the fault of a file that the first pass found not well-formed.

    Reads the stream up to the fault, or to its end if the fault may occur in many places. Deterministic.

    Args:
        stream: The content from its beginning.
        encoding: Encoding that the first pass set for the parser.
        skipped_lines: Number of line breaks before the content.
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
    is_cut_off = error.code in _CUT_OFF or (at >= len(recent) and error.code != _TAG_MISMATCH)
    named = stack if depth <= _STACK else []
    reason = _cut_off(named, recent, encoding) if is_cut_off else _reason(error.code, named, recent, at, encoding)
    line, column = error.lineno + skipped_lines, max(error.offset + 1 - reason.before, 1)
    notes: list[str] = []
    if reason.bare >= 0:
        ampersands = BareAmpersands(encoding, LineColumn(line, column))
        ampersands.look(recent[reason.bare :], stream)
        notes = ampersands.describe()
    return FeedFault("MALFORMED_XML", reason.words, line=line, column=column, notes=notes, fix=reason.fix)


def _cut_off(stack: list[_Open], recent: bytes, encoding: str) -> _Reason:
    tail = " ".join(recent[-4 * _TAIL_CHARS :].decode(encoding, "replace")[-_TAIL_CHARS:].split())
    what = "The file ends too early"
    if stack:
        what = f"The file ends before <{stack[-1].name}>, opened on line {stack[-1].line}, is closed"
    return _Reason(f"{what}: it is cut off. Its last {_TAIL_CHARS} characters are “{tail}”", _FIX_CUT_OFF)


def _reason(code: int, stack: list[_Open], recent: bytes, at: int, encoding: str) -> _Reason:
    if code == _TAG_MISMATCH and stack:
        closing = recent[at : at + 60].partition(b">")[0].decode("utf-8", "replace").lstrip("</").strip()
        opened = stack[-1]
        return _Reason(
            f"The closing tag </{closing}> does not match <{opened.name}>, which was opened on line {opened.line}"
        )
    if code == _UNDEFINED_ENTITY:
        found = _ENTITY.search(recent, at)
        return _Reason(*undefined_entity(found[1].decode(encoding, "replace") if found else "…"))
    if code == _INVALID_TOKEN:
        return _invalid_token(recent, at, encoding)
    return _Reason(_WORDS.get(code, expat.errors.messages[code].capitalize()))


def _invalid_token(recent: bytes, at: int, encoding: str) -> _Reason:
    byte = recent[at : at + 1]
    bare = recent.rfind(b"&", max(at - 64, 0), at)
    if bare < 0 or not _BARE.match(recent, bare, at):
        bare = at if byte == b"&" else -1
    if bare >= 0:
        around = _around(recent, bare, encoding)
        before = len(recent[bare:at].decode(encoding, "replace"))
        return _Reason(f"There is a bare & in “{around}”; in XML it is written &amp;", _FIX_BARE, before, bare)
    if b"<" in recent[max(at - 1, 0) : at + 1]:
        return _Reason("There is a bare <; in XML it is written &lt;", _FIX_LESS)
    if byte and byte[0] < 0x20:
        return _Reason(f"A control character (byte 0x{byte[0]:02X}) is in the text; XML forbids it")
    if byte and byte[0] >= 0x80:
        return _Reason(f"The byte 0x{byte[0]:02X} has no meaning in the file's encoding")
    return _Reason(f"“{byte.decode('ascii', 'replace')}” is not allowed here")


def _around(recent: bytes, at: int, encoding: str) -> str:
    """Return the characters around a byte that begins a character, up to the ends of its line."""
    before = recent[max(at - 4 * _AROUND_CHARS, 0) : at].rpartition(b"\n")[2].decode(encoding, "replace")
    behind = recent[at : at + 4 * _AROUND_CHARS].partition(b"\n")[0].decode(encoding, "replace")
    return (before[-_AROUND_CHARS:].rpartition(">")[2] + behind[:_AROUND_CHARS].partition("<")[0]).strip()
