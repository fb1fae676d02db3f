"""Words for a file that no plug-in reads: what it seems to be, how it begins, and what is known."""

from __future__ import annotations

import codecs
import re

from classifeed_processor.domain.faults import FeedFault, shown
from classifeed_processor.feed.formats.registry import FORMATS
from classifeed_processor.feed.source.other_formats import ADVICE, TABLE_ADVICE, name_table, name_xml

_OTHER = (
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    # Of one that is not packed in another one, what is inside comes here.
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
    """Return the fault for content that no plug-in reads, with its first bytes and what is known.

    Args:
        start: The content's first bytes.
        what: What it is; found out from its first bytes when empty.
        advice: What would make a known format of it; a sentence, or nothing.
    """
    name = what or _guess(start)
    if not advice and name.startswith("a table "):
        advice = TABLE_ADVICE
    sentences = [f"The file is {name}", *([advice] if advice else []), f"It begins with {show_bytes(start)}"]
    known = [f"- {each.name}: {each.title}; {each.recognised_by}" for each in FORMATS]
    return FeedFault("UNKNOWN_FORMAT", ". ".join(sentences), notes=["Known formats, by NAME:", *known])


def unknown_xml(root: str, start: bytes) -> FeedFault:
    """Return the fault for XML that no plug-in reads.

    Args:
        root: Name of its root, without its namespace.
        start: The content's first bytes; some thousand are enough to distinguish formats with one root.
    """
    known = name_xml(root, start)
    what = f"{known} (XML with the root <{shown(root)}>)" if known else f"XML with the root <{shown(root)}>"
    return unknown_format(start, what, ADVICE if known else "")


def show_bytes(data: bytes) -> str:
    """Return the first 200 bytes, or 32 of binary data, as one printable line in quotes; a dot stands for no text."""
    size = _SHOWN_BINARY_BYTES if _CONTROL.search(data[:_SHOWN_BYTES]) else _SHOWN_BYTES
    text = _decode(data[:size], "replace").replace("\ufffd", ".")
    return "“" + "".join(c if c.isprintable() else " " for c in text).strip() + "”"


def _guess(start: bytes) -> str:
    """Return what content seems to be that is no XML."""
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
