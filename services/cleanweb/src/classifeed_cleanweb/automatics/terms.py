"""Terms of the rules, and the search for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import ahocorasick_rs

from classifeed_cleanweb.automatics.alphabet import (
    MARK,
    MASK_SIGN,
    SEPARATOR,
    SHAPES,
    SIGNS,
    class_bytes,
    script_of,
    spell,
    stands_for,
)
from classifeed_cleanweb.automatics.views import Reading, View

_BORDER: Final = bytes((SEPARATOR,))
_LONG: Final = 6
_DOUBLE: Final = 2
# A longer span is not a word; the bound keeps the search linear.
_LONGEST: Final = 512
_MOST_MARKS: Final = 64
_REST: Final = 64
_NEAR: Final = 24
# Words recur in texts; each entry takes a few hundred bytes.
_COMPARED: Final = 1 << 14


class Role:
    """Role of a term that is not a finding: the number of its entry, below those of the rules."""

    MESSENGERS: Final = -1
    AT: Final = -2
    DIGITS: Final = -3
    DOTS: Final = -4
    ALLOW: Final = -5


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase of the rules.

    Attributes:
        letters: folded word; one space separates the words of a phrase.
        match: `word`, `start` (of a word) or `inside`.
        entry: number of the rule's entry, or a Role.
        spelling: the word with its accents if it only matches with them; otherwise empty.
    """

    letters: str
    match: str
    entry: int
    spelling: str = ""


Match = tuple[int, int, int]
"""Number of a key, and its span in the bytes of a view."""


class Hit(NamedTuple):
    """A term in a text; offsets in the original, in code points."""

    term: Term
    start: int
    end: int


class Matcher:
    """Finds terms in the readings of a text. Threads may share it."""

    def __init__(self, terms: Sequence[Term]) -> None:
        """Build the automaton; its size is linear in the letters of all terms."""
        by_key: defaultdict[bytes, list[Term]] = defaultdict(list)
        for term in terms:
            left = b"" if term.match == "inside" else _BORDER
            right = _BORDER if term.match == "word" else b""
            by_key[left + class_bytes(term.letters) + right].append(term)
        self._borders = [(int(key[0] == SEPARATOR), int(key[-1] == SEPARATOR)) for key in by_key]
        self._terms = list(by_key.values())
        self._roles = [max(term.entry for term in terms) for terms in by_key.values()]
        self._automaton = ahocorasick_rs.BytesAhoCorasick(list(by_key)) if by_key else None

    def find(self, text: str, reading: Reading) -> Iterator[Hit]:
        """Yield each term of the text; the same span and term may be yielded more than once."""
        if self._automaton is None:
            return
        roles = self._roles
        for view in reading.views:
            numbers: list[Match] = []
            for match in self._automaton.find_matches_as_indexes(view.key, overlapping=True):
                role = roles[match[0]]
                if role == Role.DIGITS:
                    numbers.append(match)
                elif role >= 0 or view.name == "plain":
                    yield from self._hits(text, view, match)
            if view.name == "plain" and _are_near(numbers):
                for match in numbers:
                    yield from self._hits(text, view, match)

    def _hits(self, text: str, view: View, match: Match) -> Sequence[Hit]:
        """Return the terms that match a span whose classes match."""
        key, left, right = match
        item, places = view.runs.item, view.places
        # A byte of the key is a run of characters, except for a border before the first run.
        before, after = self._borders[key]
        begin, end = item(left + before - 1), item(right - after - 1)
        start, stop = (begin, end) if places is None else (places.item(begin), places.item(end - 1) + 1)
        if stop - start > _LONGEST:
            return ()
        hits = []
        characters = text[start:stop]
        if stop - start != end - begin and places is not None:
            characters = "".join([text[place] for place in places[begin:end].tolist()])
        for term in self._terms[key]:
            if _is_new(text, view.name, term, start, stop, end - begin) and is_written(term.letters, characters):
                hit = _whole(text, view, term, left + before, right - after)
                if not term.spelling or term.spelling in spell(text[hit.start : hit.end]):
                    hits.append(hit)
        return hits


def _are_near(numbers: Sequence[Match]) -> bool:
    """Return whether two words for digits are so close together that they may dial a number; most are not."""
    return any(after[1] - before[2] < _NEAR for before, after in pairwise(numbers))


def _whole(text: str, view: View, term: Term, first: int, last: int) -> Hit:
    """Return the hit for the bytes from `first` to before `last` of a view's key, extended to its whole word."""
    if term.match == "inside":
        border = view.key.rfind(_BORDER, max(0, first - _REST), first)
        first = first if border < 0 else border + 1
    if term.match != "word":
        border = view.key.find(_BORDER, last, last + _REST)
        last = last if border < 0 else border
    begin, end = view.runs.item(first - 1), view.runs.item(last - 1)
    if view.places is not None:
        begin, end = view.places.item(begin), view.places.item(end - 1) + 1
    return Hit(term, begin, _with_marks(text, end))


def _with_marks(text: str, stop: int) -> int:
    """Return the end of the combining marks at a place; a limited number of them."""
    end = stop
    while end < len(text) and end - stop < _MOST_MARKS and SHAPES[ord(text[end])] == MARK:
        end += 1
    return end


@lru_cache(_COMPARED)
def is_written(letters: str, characters: str) -> bool:
    """Return whether characters spell a term: each letter at least once, in order, some repeated.

    At least half of the characters must be letters, and one must be in the term's own script.
    """
    scripts = frozenset(filter(None, map(script_of, letters)))
    at, run, plain, own = -1, 0, 0, not scripts
    doubles = len(letters) >= _LONG or "cyrillic" in scripts
    for character in characters:
        able = stands_for(character)
        gap = not able and not character.isalnum()
        wanted = letters[at + 1 : at + 2]
        if wanted and (wanted in able or (gap and wanted == " ")):
            if run == _DOUBLE and not doubles:
                return False
            at, run = at + 1, 1
        elif at >= 0 and letters[at] in able:
            run += 1
        elif not (at >= 0 and gap and letters[at] == " "):
            return False
        if character not in SIGNS or letters[at] == MASK_SIGN:
            plain += 1
            own = own or script_of(character) in scripts
    return at + 1 == len(letters) and own and plain * 2 >= len(characters) and (run != _DOUBLE or doubles)


def _is_new(text: str, name: str, term: Term, start: int, stop: int, visible: int) -> bool:
    """Return whether a view may reveal a word at a place that the plain view does not.

    Args:
        text: the text.
        name: name of the view.
        term: possible term at the place.
        start: start of the place.
        stop: end of the place.
        visible: number of characters of the place in the view.
    """
    if name == "words":
        return text[start - 1 : start] in SIGNS or text[stop : stop + 1] in SIGNS
    if name == "joined":
        return stop - start != visible and term.match != "inside"
    if name == "spaced":
        letters = len(term.letters) - term.letters.count(" ")
        return stop - start >= 2 * letters - 1 > 1 and _is_spaced(text, start, stop, letters)
    return True


def _is_spaced(text: str, start: int, stop: int, letters: int) -> bool:
    """Return whether every letter of a span is separated from the others."""
    seen = [bool(stands_for(character)) or character.isalnum() for character in text[start:stop]]
    return sum(1 for place, one in enumerate(seen) if one and (place == 0 or not seen[place - 1])) >= letters
