"""How the characters of a file are read, as its first bytes say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text that both passes read in the content and that does not stand in the file.

    Attributes:
        offset: Byte of the content at which it stands.
        text: The text; without a line break.
    """

    offset: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Opening:
    """How to read the characters of an XML file.

    Attributes:
        skip_bytes: Byte order mark and blanks before the first `<`.
        skip_lines: Line breaks among these, to be added to every line number.
        wide: Python codec to decode with before parsing, for encodings of two bytes a character; empty otherwise.
        encoding: Encoding to force on both parsers.
        declared: What the declaration says; empty when it says nothing.
        inserted: A declaration that the root lacks; None where it lacks none.
    """

    skip_bytes: int
    skip_lines: int
    wide: str
    encoding: str
    declared: str
    inserted: Insertion | None = None
