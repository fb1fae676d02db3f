"""Possible readings of a text: classes of its characters, each with its offset in the original."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from classifeed_cleanweb.automatics.alphabet import (
    CLASS_OF,
    CLASSES,
    DIGIT,
    DROPPED,
    ENDING,
    LETTER,
    MASK,
    MASKING,
    PUNCTUATION,
    SEPARATOR,
    SHAPES,
    SIGN,
)

Places = npt.NDArray[np.intp]
_Classes = npt.NDArray[np.uint8]
_BORDER: Final = bytes((SEPARATOR,))
# Tables that reduce shapes and classes to a few values, so that a question becomes a search for a few bytes.
_WORDS: Final = bytes.maketrans(bytes((DIGIT, SIGN, MASKING)), b"###")
_JOINED: Final = bytes.maketrans(bytes((DIGIT, SIGN, LETTER, MASKING, PUNCTUATION, ENDING)), b"LLLPPP")
_PARTED: Final = bytes.maketrans(bytes((SIGN, MASKING, ENDING)), b"LPP")
_SPACED: Final = bytes(ord(" ") if code <= MASK else LETTER for code in range(256))
_LETTERS_AND_DIGITS: Final = bytes(
    LETTER if shape in (LETTER, SIGN) else shape if shape == DIGIT else ord(" ") for shape in range(256)
)
# Three separate characters, one of which may be a digit: two of them occur in almost every text.
_LONE: Final = b" L L L "
_CHAINS: Final = (_LONE, b" L L D ", b" L D L ", b" D L L ")
_SIGNS: Final = np.isin(np.arange(256), (DIGIT, SIGN, MASKING))


class View(NamedTuple):
    """One reading of a text.

    Attributes:
        name: `plain`; `words`, where signs separate words; `joined`, where punctuation inside words is removed;
            `spaced`, where separate letters are joined to one word.
        key: classes, one byte for each run of a class, with a separator at both ends.
        runs: start of each run in `places`, for the bytes between the borders, then the number of characters.
        places: offsets of the characters in the original text; None: all characters.
    """

    name: str
    key: bytes
    runs: Places
    places: Places | None


class Reading(NamedTuple):
    """All views of a text, and its classes and shapes.

    Attributes:
        views: distinct readings.
        classes: class of each visible character.
        shapes: shapes of the code points of the text.
    """

    views: tuple[View, ...]
    classes: _Classes
    shapes: bytes


def read(text: str) -> Reading:
    """Return the readings of a text in time linear in its length."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.intp)
    classes, shapes = CLASSES.take(codes), SHAPES.take(codes)
    marks = shapes.tobytes()
    seen, seen_marks, places = classes, marks, None
    if DROPPED in classes.tobytes():
        places = classes.nonzero()[0]
        seen, shapes = classes.take(places), shapes.take(places)
        seen_marks = shapes.tobytes()
    if not seen_marks:
        return Reading((), seen, marks)
    if ENDING in seen_marks and b"EL" in seen_marks:
        before_letter = np.append((shapes[:-1] == ENDING) & (shapes[1:] == LETTER), False)
        seen = np.where(before_letter, np.uint8(CLASS_OF["!"]), seen)
        shapes = np.where(before_letter, np.uint8(SIGN), shapes)
        seen_marks = shapes.tobytes()
    plain = _collapse("plain", seen, places)
    views = [plain]
    words = seen_marks.translate(_WORDS)
    if b"L#" in words or b"#L" in words:
        views.append(_collapse("words", np.where(_SIGNS.take(shapes), np.uint8(SEPARATOR), seen), places))
    if b"LPL" in seen_marks.translate(_PARTED):
        kept = _without_single(np.frombuffer(seen_marks.translate(_JOINED), np.uint8)).nonzero()[0]
        views.append(_collapse("joined", seen.take(kept), kept if places is None else places.take(kept)))
    if _LONE in plain.key.translate(_SPACED) and _has_chain(shapes.take(plain.runs[:-1]).tobytes()):
        views += _spaced(plain)
    return Reading(tuple(views), seen, marks)


def _collapse(name: str, classes: _Classes, places: Places | None) -> View:
    begins = np.empty(len(classes) + 1, np.bool_)
    begins[0] = begins[-1] = True
    np.not_equal(classes[1:], classes[:-1], out=begins[1:-1])
    runs = begins.nonzero()[0]
    return View(name, _BORDER + classes.take(runs[:-1]).tobytes() + _BORDER, runs, places)


def _without_single(shapes: _Classes) -> npt.NDArray[np.bool_]:
    """Return a mask without single punctuation marks between letters."""
    kept = np.ones(len(shapes), np.bool_)
    letters = shapes == LETTER
    kept[1:-1] = (shapes[1:-1] != PUNCTUATION) | ~(letters[:-2] & letters[2:])
    return kept


def _has_chain(shapes: bytes) -> bool:
    """Return whether three characters in a row are separate, by the shapes of a view's runs."""
    lone = b" %b " % shapes.translate(_LETTERS_AND_DIGITS)
    return any(chain in lone for chain in _CHAINS)


def _spaced(plain: View) -> Iterator[View]:
    """Yield the text with separate letters in a row joined to one word; then again without the first of each row."""
    classes = np.frombuffer(plain.key, np.uint8)
    letters, sizes = classes > MASK, np.diff(plain.runs)
    alone = np.zeros(len(classes), np.bool_)
    alone[1:-1] = letters[1:-1] & ~letters[:-2] & ~letters[2:]
    # The first letter may be a word, such as `a` or `я`.
    but_first = alone.copy()
    but_first[2:] &= alone[:-2]
    but_first[:2] = False
    for lone in (alone, but_first):
        left = np.repeat(~(lone[:-2] & lone[2:]), sizes).nonzero()[0]
        places = left if plain.places is None else plain.places.take(left)
        yield _collapse("spaced", np.repeat(classes[1:-1], sizes).take(left), places)
