"""Phone numbers: in digits, with letters in place of digits, in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from classifeed_cleanweb.automatics.addresses.links import any_of
from classifeed_cleanweb.automatics.alphabet import DIGIT

Span = tuple[int, int]

_GAP: Final = r"[ \-.()/_\u00a0\u2009\u2010-\u2015]{0,3}"
_DIGIT: Final = r"[\dlIOoОо]"
# Every repetition is bounded, so that the number of steps is linear in the length of a text.
_RUSSIAN: Final = rf"\+?[78]{_GAP}[3489](?:{_GAP}{_DIGIT}){{9}}"
_INTERNATIONAL: Final = rf"\+\d(?:{_GAP}\d){{8,14}}"
_AMERICAN: Final = r"(?:\b1[ \-.]{1,2})?\(?\b\d{3}\)?[ \-.]{1,2}\d{3}[ \-.]{1,2}\d{4}"
_BRITISH: Final = r"0[127]\d{1,3} \d{3,4} ?\d{3,4}"
_TURKISH: Final = rf"0{_GAP}5(?:{_GAP}\d){{9}}"
_SHAPES: Final = re.compile(rf"(?:{_RUSSIAN}|{_INTERNATIONAL}|{_AMERICAN}|{_BRITISH}|{_TURKISH})(?!\w|[.,\-]\d)")
_ANY: Final = re.compile(rf"\+?\(?\d(?:{_GAP}{_DIGIT}){{6,14}}(?!\w)")
# Seven digits close together: a possible phone number. Only then is the rest compared, from each digit on.
_DENSE: Final = re.compile(rb"D(?:[^D]{0,4}D){6}")
_ASCII: Final = 127
_TOKEN: Final = re.compile(r"\w{1,40}")
_WIDE: Final = {ord(wide): sign for wide, sign in zip("＋（）－．／", "+()-./", strict=True)}
_BEFORE: Final = 24
_AFTER: Final = 6
_MIN_SPELLED: Final = 9
_MIN_WORDS: Final = 4


class Phones:
    """Finds phone numbers.

    The initialiser takes lists of the rules: beginnings of words after which digits are a phone number (`call`) or are
    not (`numbered`), beginnings of words before which they are not (`units`), and words for digits.
    """

    def __init__(
        self, call: Sequence[str], numbered: Sequence[str], units: Sequence[str], digits: dict[str, str]
    ) -> None:
        self._call = re.compile(rf"(?<!\w)(?:{any_of(call)})", re.IGNORECASE)
        self._numbered = re.compile(rf"(?<!\w)(?:{any_of(numbered)})", re.IGNORECASE)
        self._units = re.compile(rf"\s{{0,2}}(?:{any_of(units)})", re.IGNORECASE)
        self._digits = digits

    def written(self, text: str, shapes: bytes) -> Iterator[Span]:
        """Yield numbers in digits that are phones by their shape or by the word before them; see `may_dial`.

        Args:
            text: the text.
            shapes: shapes of its code points.
        """
        dense = [place for found in _DENSE.finditer(shapes) for place in range(*found.span()) if shapes[place] == DIGIT]
        text, end = _with_plain_digits(text, dense), 0
        is_called = self._call.search(text, max(0, dense[0] - _BEFORE), dense[-1]) is not None
        for place in dense:
            start = place
            while start > 0 and place - start < 2 and text[start - 1] in "+(":
                start -= 1
            if start < end or (start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_.,")):
                continue
            found = _SHAPES.match(text, start)
            if found is None and is_called and self._call.search(text, max(0, start - _BEFORE), start):
                found = _ANY.match(text, start)
            if found is not None and self._is_phone(text, found):
                end = found.end()
                yield found.span()

    def _is_phone(self, text: str, found: re.Match[str]) -> bool:
        start, end = found.span()
        signs = [sign for sign in found[0] if sign.isalnum()]
        if sum(sign.isdecimal() for sign in signs) * 5 < len(signs) * 4 or len(set(signs)) == 1:
            return False
        if self._units.match(text, end, min(len(text), end + _AFTER)):
            return False
        return found[0][0] == "+" or not self._numbered.search(text, max(0, start - _BEFORE), start)

    def spelled(self, text: str, words: Sequence[Span]) -> Iterator[Span]:
        """Yield numbers in words, or in words and digits.

        Args:
            text: the text.
            words: spans of words for digits, in order.
        """
        for begin, end in _chains(words):
            spans = [found.span() for found in _TOKEN.finditer(text, max(0, begin - 12), min(len(text), end + 20))]
            chain: list[Span] = []
            for span in [*spans, (-1, -1)]:
                token = text[span[0] : span[1]].casefold()
                if span[0] >= 0 and (token.isdecimal() or token in self._digits):
                    chain.append(span)
                    continue
                if self._length(text, chain) >= _MIN_SPELLED:
                    yield chain[0][0], chain[-1][1]
                chain = []

    def _length(self, text: str, chain: Sequence[Span]) -> int:
        """Return how many digits a chain of words and digits dials; 0 for too few words."""
        tokens = [text[start:end].casefold() for start, end in chain]
        if sum(token in self._digits for token in tokens) < 2 or len(tokens) < _MIN_WORDS:
            return 0
        length, room = 0, 0
        for token in tokens:
            is_word = not token.isdecimal()
            digits = self._digits[token] if is_word else token
            if not (is_word and len(digits) <= room):  # after `nine hundred`, `sixteen` adds no digits
                length += len(digits)
            room = len(digits) - len(digits.rstrip("0")) if is_word and digits.strip("0") else 0
        return length


def may_dial(shapes: bytes) -> bool:
    """Return whether a text has digits so close together that they may be a phone number."""
    return _DENSE.search(shapes) is not None


def _with_plain_digits(text: str, digits: Sequence[int]) -> str:
    """Return a text of the same length, with digits of other scripts and widths replaced by ASCII digits."""
    if not any(ord(text[place]) > _ASCII for place in digits):
        return text
    others = {ord(sign): str(unicodedata.decimal(sign)) for sign in set(text) if sign.isdecimal()}
    return text.translate(others | _WIDE)


def _chains(words: Sequence[Span]) -> Iterator[Span]:
    """Yield spans of two or more words that are close together."""
    begin, end, count = -1, -1, 0
    for start, stop in [*words, (1 << 40, 1 << 40)]:
        if count and start - end > _AFTER + 12:
            if count >= 2:
                yield begin, end
            count = 0
        if not count:
            begin = start
        end, count = max(end, stop) if count else stop, count + 1
