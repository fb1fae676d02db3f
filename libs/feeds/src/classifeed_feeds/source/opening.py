"""Beginning of an XML file: skipped bytes, encoding, and a missing declaration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text that is inserted into the content for both passes, but is not in the file.

    Attributes:
        offset: Offset of the text in the content, in bytes.
        text: Inserted text, without a line break.
    """

    offset: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Opening:
    """Beginning and encoding of an XML file.

    Attributes:
        skip_bytes: Number of bytes before the first `<`: byte order mark and blanks.
        skip_lines: Number of line breaks among them, which is added to every line number.
        wide: Python codec to decode UTF-16 with before parsing; empty for other encodings.
        encoding: Encoding to set for both parsers.
        declared: Encoding in the XML declaration; empty: none.
        inserted: Declaration that is missing in the root; None: none is missing.
    """

    skip_bytes: int
    skip_lines: int
    wide: str
    encoding: str
    declared: str
    inserted: Insertion | None = None
