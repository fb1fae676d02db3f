"""Words for a file that no plug-in reads: what it seems to be, how it begins, and what is known."""

from __future__ import annotations

from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.formats import FORMATS

_OTHER = (
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"BZh", "a bzip2 archive"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old office document"),
    (b"{", "JSON"),
    (b"[", "JSON"),
)


def unknown_format(start: bytes, what: str = "", advice: str = "") -> FeedFault:
    """Returns the fault for content that no plug-in reads, with its first 200 bytes and what is known.

    Args:
        start: The content's first bytes.
        what: What it is; found out from its first bytes when empty.
        advice: What would make a known format of it; a sentence, or nothing.
    """
    name = what or next((name for magic, name in _OTHER if start.startswith(magic)), "of no known format")
    known = "; ".join(f"{each.title}: {each.recognised_by}" for each in FORMATS)
    sentences = [f"The file is {name}", *([advice] if advice else []), f"Known are: {known}"]
    return FeedFault("UNKNOWN_FORMAT", f"{'. '.join(sentences)}. It begins with {show_bytes(start)}", line=1, column=1)


def show_bytes(data: bytes) -> str:
    """Returns the first 200 bytes as one printable line in quotes."""
    text = data[:200].decode("utf-8", "replace")
    return "“" + "".join(c if c.isprintable() else " " for c in text).strip() + "”"
