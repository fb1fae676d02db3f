"""Letters that a character may replace, and classes of characters for the search.

A class contains all letters and signs that may replace one another, directly or through a third one: `o`, Cyrillic `о`
and `0` are one class. Terms and texts are first compared by classes, which is quick but matches too much. A match is
then compared letter by letter with `stands_for`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

DROPPED: Final = 0
"""Class of characters that a reader does not see: combining marks, characters of no width."""
SEPARATOR: Final = 1
"""Class of everything between words."""
MASK: Final = 2
"""Class of signs that may replace any letter."""
OTHER: Final = 255
"""Class of letters that no term has."""

LETTER: Final = ord("L")
DIGIT: Final = ord("D")
SIGN: Final = ord("#")
"""Shape of a sign that may replace a letter."""
ENDING: Final = ord("E")
"""Shape of a sign that ends sentences, and may replace a letter before another letter."""
MASKING: Final = ord("M")
SPACE: Final = ord("S")
PUNCTUATION: Final = ord("P")
MARK: Final = ord("C")
"""Shape of a combining mark; other invisible characters have 0."""

MASK_SIGN: Final = "*"
_MASK_SIGNS: Final = "*#•●×"
_LATIN: Final = "abcdefghijklmnopqrstuvwxyz"
_CYRILLIC: Final = "абвгдежзиклмнопрстуфхцчшщъыьэюя"
# Other characters that a character may be read as.
_TWINS: Final = {
    "a": "а", "b": "в", "c": "с", "e": "е", "h": "н", "k": "к", "m": "м", "n": "п", "o": "о", "p": "р", "r": "г",
    "t": "т", "u": "и", "w": "ш", "x": "х", "y": "у", "і": "iи", "ѕ": "s", "ј": "j", "ԁ": "d", "ԛ": "q", "ԝ": "w",
    "α": "aа", "β": "bв", "ε": "eе", "η": "nп", "ι": "i", "κ": "kк", "μ": "м", "ν": "v", "ο": "oо", "π": "пn",
    "ρ": "pр", "τ": "tт", "υ": "u", "χ": "xх", "γ": "yу", "ω": "w", "ɑ": "aа", "ɡ": "g", "є": "еe", "ґ": "г",
    "0": "oо", "1": "ilи", "3": "eезe", "4": "aач", "5": "s", "6": "б", "7": "tт", "8": "bв", "9": "gд",
    "@": "aа", "$": "s", "!": "iи", "|": "li", "€": "eе", "£": "l",
}  # fmt: skip
_SIGNS: Final = "0123456789@$!|€£"
_ENDINGS: Final = "!|"
_BASES: Final = {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ё": "е", "й": "и"}
_ALIKE: Final = {"а": "a", "с": "c", "е": "e", "о": "o", "р": "p", "х": "x", "у": "y", "к": "k", "в": "b", "н": "h"} | {
    "м": "m", "т": "t", "и": "u", "п": "n", "г": "r", "ш": "w",
}  # fmt: skip
_REPEATED: Final = re.compile(r"(.)\1{1,200}")
_PLANE: Final = 0x10000
_MATHEMATICAL: Final = range(0x1D400, 0x1D800)
_ENCLOSED: Final = range(0x1F100, 0x1F1A0)


@cache
def base_of(character: str) -> str:
    """Return a character without case, accent and width; "": a reader does not see it."""
    if character in _BASES:
        return _BASES[character]
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return ""
    plain = unicodedata.normalize("NFKD", character.lower())[:1].lower()
    return _BASES.get(plain, plain)


@cache
def stands_for(character: str) -> frozenset[str]:
    """Return the letters of terms that a character may replace."""
    base = base_of(character)
    if base in _MASK_SIGNS and base:
        return frozenset(MASK_SIGN)
    letters = set(_TWINS.get(base, "")) | set(_ALIKE.get(base, ""))
    if base and base in _LATIN + _CYRILLIC:
        letters.add(base)
    return frozenset(letters)


def fold(word: str) -> str:
    """Return a term in its form for comparison: bases of its characters, and one space for each run of others."""
    bases = (base_of(character) for character in word)
    return " ".join("".join(base if base.isalnum() or base == MASK_SIGN else " " * len(base) for base in bases).split())


def spell(word: str) -> str:
    """Return a word in its form for comparing accents: lower case, composed, no letter twice in a row."""
    return _REPEATED.sub(r"\1", unicodedata.normalize("NFKC", word.replace("İ", "i").lower()))


def script_of(letter: str) -> str:
    """Return `cyrillic` or `latin`; "" for anything else."""
    base = base_of(letter)
    if base and base in _LATIN:
        return "latin"
    return "cyrillic" if base and base in _CYRILLIC else ""


def _classes() -> dict[str, int]:
    """Return the class of each base that a term or a sign may have."""
    group = {letter: {letter} for letter in (*_LATIN, *_CYRILLIC, *_TWINS)}
    for character in list(group):
        for letter in stands_for(character):
            if group[letter] is not group[character]:
                group[letter] |= group[character]
                for member in group[letter]:
                    group[member] = group[letter]
    numbers: dict[int, int] = {}
    classes = {letter: numbers.setdefault(id(members), MASK + 1 + len(numbers)) for letter, members in group.items()}
    return classes | dict.fromkeys(_MASK_SIGNS, MASK) | {" ": SEPARATOR}


CLASS_OF: Final = _classes()


def class_bytes(term: str) -> bytes:
    """Return the classes of a folded term, with runs of one class collapsed."""
    classes = [CLASS_OF.get(letter, OTHER) for letter in term]
    return bytes(one for place, one in enumerate(classes) if place == 0 or one != classes[place - 1])


def _shape(character: str, base: str) -> int:
    if not base:
        return MARK if unicodedata.category(character) in {"Mn", "Me"} else 0
    if character.isdecimal():
        return DIGIT
    if base in _MASK_SIGNS:
        return MASKING
    if base in _ENDINGS:
        return ENDING
    if base in _SIGNS:
        return SIGN
    if base.isalnum():
        return LETTER
    return SPACE if character.isspace() else PUNCTUATION


def _tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    classes = np.full(0x110000, SEPARATOR, np.uint8)
    shapes = np.full(0x110000, PUNCTUATION, np.uint8)
    for code in (*range(_PLANE), *_MATHEMATICAL, *_ENCLOSED):
        character = chr(code)
        base = base_of(character)
        shapes[code] = _shape(character, base)
        classes[code] = CLASS_OF.get(base, OTHER if base.isalnum() else SEPARATOR) if base else DROPPED
        if base and base in _ENDINGS:
            classes[code] = SEPARATOR
    classes[0xE0000:0xE0200] = DROPPED  # tags and variation selectors
    shapes[0xE0000:0xE0200] = 0
    return classes, shapes


CLASSES, SHAPES = _tables()
"""Class and shape of each code point."""
SIGNS: Final = frozenset(
    chr(code) for shape in (DIGIT, SIGN, ENDING, MASKING) for code in np.flatnonzero(shape == SHAPES).tolist()
)
"""Digits and signs that may replace letters, in each width."""
