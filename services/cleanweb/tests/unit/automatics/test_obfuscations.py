"""Obfuscated terms are found, and the span is exactly the obfuscated text."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from classifeed_cleanweb.automatics import Automatics

# Words of both scripts, with letters that have twins and letters that digits replace.
_TERMS = ("помойка", "рекламщик", "garbage", "trashcan")
_JUDGE = Automatics.load(
    {
        "lists": {
            "t": {"kind": "words", "verdict": "text_auto_spam", "entries": [{"rule": "t.t", "forms": list(_TERMS)}]}
        }
    }
)
# Signs that replace letters, independent of the tables in the code.
_TWINS = {
    "а": "aα",
    "е": "eε",
    "о": "oοØ",
    "р": "pρ",
    "к": "kκ",
    "м": "m",
    "a": "аɑ",
    "e": "еé",
    "c": "сç",
    "t": "т",
    "b": "в",
}
_DIGITS = {"о": "0", "е": "3", "а": "4@", "a": "4@", "e": "3", "s": "5$", "b": "8", "g": "9", "t": "7"}
_UNSEEN = ("\u200b", "\u200d", "\u2060", "\u00ad", "\ufeff", "\ufe0f")
_MARKS = ("\u0301", "\u0308", "\u0336", "\u20dd")


def _hidden(draw: st.DrawFn, term: str) -> str:
    """Draw the letters of a term, some obfuscated; at least half stay letters, one of them in its own script."""
    digits_left = len(term) // 3
    pieces = []
    for place, letter in enumerate(term):
        ways = [letter, letter.upper()]
        if place % 2:
            ways += _TWINS.get(letter, "")
            if letter in "abcegrsht":
                ways.append(chr(ord(letter) + 0xFEE0))
            if digits_left and letter in _DIGITS and 0 < place < len(term) - 1:
                ways += _DIGITS[letter]
        piece = draw(st.sampled_from(ways))
        digits_left -= not piece.isalpha()
        pieces.append(piece * draw(st.sampled_from((1, 1, 1, 3, 4))) + draw(st.sampled_from(("", "", *_MARKS))))
    between = draw(st.sampled_from(("", "", " ", "  ", ".", "-", ". ", "_")))
    if not between:
        return "".join(piece + draw(st.sampled_from(("", "", *_UNSEEN))) for piece in pieces[:-1]) + pieces[-1]
    return between.join(pieces)


@st.composite
def _texts(draw: st.DrawFn) -> tuple[str, str, str]:
    before = draw(st.sampled_from(("", "это ", "ну вот, ", "see: ", "😀 ", "(", "\u200b")))
    after = draw(st.sampled_from(("", "!", " это", ", да", ")", " 😀", "…")))
    return before, _hidden(draw, draw(st.sampled_from(_TERMS))), after


@given(_texts())
@example(("", "п.о.м.о.й.к.а", "!"))
@example(("это ", "g 4 r b a g e", ""))
@example(("", "ＴＲＡＳＨＣＡＮ", ""))
def test_a_hidden_term_is_found_where_it_stands(text: tuple[str, str, str]) -> None:
    before, piece, after = text
    findings = _JUDGE.judge(before + piece + after, (), "offer").findings
    assert [(one.start, one.end, one.excerpt) for one in findings] == [(len(before), len(before) + len(piece), piece)]


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_text_is_judged(text: str) -> None:
    """Includes lone surrogates; every finding is a piece of the text."""
    found = _JUDGE.judge(text, (), "offer")
    assert 0 <= found.score <= 1
    assert all(text[one.start : one.end] == one.excerpt for one in found.findings)


def test_a_lone_letter_before_spaced_ones_is_a_word_by_itself() -> None:
    for text, piece in (("such a g a r b a g e today", "g a r b a g e"), ("вот и п.о.м.о.й.к.а", "п.о.м.о.й.к.а")):
        assert [one.excerpt for one in _JUDGE.judge(text, (), "offer").findings] == [piece]


def test_parts_of_words_are_none() -> None:
    for text in ("помойкаты", "непомойка", "garbages", "по мой ка", "10 0 0", "рекла", "п о м о й"):
        assert _JUDGE.judge(text, (), "offer").findings == ()
