"""Codes of texts, compared with a simple search around each number."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st

from classifeed_searcher.engine.spelling import join, spell_text, unify_alphabets

_PIECES = ["5", "12", "540", "TK", "M", "iPhone", "размерами", "автомобильный", "-", "/", " ", "  ", ".", ",", "+"]
_PIECES += ["_", "Ⅷ", "ª", "٣", "\n", "см", "x", "abcdefgh", "abcdefghi", "№", "'"]
_WORD_BEFORE = re.compile(r"(?<![^\W\d_])([^\W\d_]{1,8})[\s./,+-]{0,2}$")
_WORD_AFTER = re.compile(r"[\s./,+-]{0,2}([^\W\d_]{1,8})(?![^\W\d_])")


def codes_of(text: str) -> Iterator[str]:
    former, former_end = "", 0
    for found in re.finditer(r"[0-9]+", text):
        number, (start, end) = found[0], found.span()
        if former and re.fullmatch(r"[\s./,+-]{0,2}", text[former_end:start]):
            yield join(former, number)
        if word := _WORD_BEFORE.search(text[:start]):
            yield join(word[1], number)
        if word := _WORD_AFTER.match(text, end):
            yield join(number, word[1])
        if len(number) > 1 and (text[start - 1 : start].isalpha() or text[end : end + 1].isalpha()):
            yield number
        former, former_end = number, end


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
@example("TK-540 M 195/65 R15")
@example("12 " * 100)
def test_codes_are_those_around_each_number(text: str) -> None:
    text = unify_alphabets(text)
    codes = list(dict.fromkeys(codes_of(text)))
    assert spell_text(text) == (f"{text} {' '.join(codes)}" if codes else text)
