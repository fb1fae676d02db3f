"""Faults of files in unsupported formats: a guess of the format, the first bytes, and the known formats."""

from __future__ import annotations

import codecs
import re

from classifeed_feeds.faults import FeedFault, shown
from classifeed_feeds.formats.registry import FORMATS
from classifeed_feeds.source.other_formats import ADVICE, TABLE_ADVICE, name_table, name_xml

_OTHER = (
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    # A single archive is unpacked before, so these are archives inside of an archive.
    (b"\x1f\x8b", "an archive inside of an archive"),
    (b"PK\x03\x04", "an archive inside of an archive"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "a table of Excel (XLS) or another old office document"),
)
_SHOWN_BYTES = 200
_SHOWN_BINARY_BYTES = 32
_TABLE_BYTES = 16 << 10
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_JSON_START = (b"{", b"[")


def unknown_format(start: bytes, what: str = "", advice: str = "") -> FeedFault:
    """Return the fault for content of an unsupported format, with its first bytes and the known formats.

    Args:
        start: First bytes of the content.
        what: Description of the content; empty: it is guessed from the first bytes.
        advice: Sentence about how to convert it to a known format; empty: none.
    """
    name = what or _guess(start)
    if not advice and name.startswith("a table "):
        advice = TABLE_ADVICE
    sentences = [f"The file is {name}", *([advice] if advice else []), f"It begins with {show_bytes(start)}"]
    known = [f"- {each.name}: {each.title}; {each.recognised_by}" for each in FORMATS]
    return FeedFault("UNKNOWN_FORMAT", ". ".join(sentences), notes=["Known formats, by NAME:", *known])


def unknown_xml(root: str, start: bytes) -> FeedFault:
    """Return the fault for XML of an unsupported format.

    Args:
        root: Name of the root element, without its namespace.
        start: First bytes of the content; some thousand are enough to distinguish formats with the same root.
    """
    known = name_xml(root, start)
    what = f"{known} (XML with the root <{shown(root)}>)" if known else f"XML with the root <{shown(root)}>"
    return unknown_format(start, what, ADVICE if known else "")


def show_bytes(data: bytes) -> str:
    """Return the first 200 bytes, or 32 of binary data, as one quoted line; bytes that are not text become dots."""
    size = _SHOWN_BINARY_BYTES if _CONTROL.search(data[:_SHOWN_BYTES]) else _SHOWN_BYTES
    text = _decode(data[:size], "replace").replace("\ufffd", ".")
    return "“" + "".join(c if c.isprintable() else " " for c in text).strip() + "”"


def _guess(start: bytes) -> str:
    """Guess the format of content that is not XML."""
    for magic, name in _OTHER:
        if start.startswith(magic):
            return name
    head = start[:_SHOWN_BYTES]
    if _CONTROL.search(head):
        return "binary data"
    if not head.startswith(_JSON_START):
        return name_table(_decode(start[:_TABLE_BYTES], "replace")) or "of no known format"
    try:
        _decode(head, "strict")
    except UnicodeDecodeError:
        return "binary data"
    return "JSON"


def _decode(head: bytes, errors: str) -> str:
    # The last character may be cut in two.
    return codecs.getincrementaldecoder("utf-8")(errors).decode(head)
