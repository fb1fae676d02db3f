"""Text for a terminal: escaping of control characters, and wrapping of lines."""

from __future__ import annotations

import re
import unicodedata

from rich.cells import cell_len, chop_cells, set_cell_size

_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Control characters, halves of pairs, private and unassigned ones, separators of lines and of paragraphs.
_OBEYED = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    """Return the text with control characters and direction marks escaped."""
    return "".join(_escaped(each) if each != "\n" and _is_obeyed(each) else each for each in text)


def one_line(text: str) -> str:
    """Return the text as one printable line: white space becomes single blanks, control characters are escaped."""
    return "".join(_escaped(each) if _is_obeyed(each) else each for each in re.sub(r"\s+", " ", text).strip())


def cut(text: str, width: int) -> str:
    """Return the text, cut to `width` cells with an ellipsis if it is too long."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def wrapped(line: str, width: int, hang: int) -> list[str]:
    """Return the line wrapped at `width` cells, with continuation lines indented by `hang`.

    Links are never split, so that they can be copied; a long link is indented less. Paths are split after a slash.
    """
    lines: list[str] = []
    current = ""
    for blanks, word in re.findall(r"( *)([^ ]+)", line):
        indent = min(hang, max(width - cell_len(word), 0)) if _is_link(word) else hang
        for number, piece in enumerate(_pieces(word, width - hang)):
            longer = current + ("" if number else blanks) + piece
            if number or (current.strip() and cell_len(longer) > width):
                lines.append(current)
                longer = " " * indent + piece
            current = longer
    return [*lines, current]


def with_short_links(text: str, width: int) -> str:
    """Return the text, with the middle of links replaced by an ellipsis if they are wider than `width` cells."""
    return " ".join(_short(word, width) if _is_link(word) else word for word in text.split(" "))


def _short(link: str, width: int) -> str:
    if cell_len(link) <= width:
        return link
    end = max((width - 1) // 3, 1)
    return f"{set_cell_size(link, max(width - 1 - end, 1)).rstrip()}…{link[-end:]}"


def _is_link(word: str) -> bool:
    return "://" in word


def _pieces(word: str, width: int) -> list[str]:
    if cell_len(word) <= width or _is_link(word):
        return [word]
    first = chop_cells(word, max(width, 2))[0]
    parted = first[: first.rfind("/") + 1] or first
    return [parted, *_pieces(word.removeprefix(parted), width)]


def _is_obeyed(character: str) -> bool:
    return character in _DIRECTION_MARKS or unicodedata.category(character) in _OBEYED


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
