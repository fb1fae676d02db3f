"""Nouns that the Russian stemmer takes for verbs in some of their forms, so that they have two stems.

The stemmer removes a verb's ending from `диван` and `кровать` and returns `дива` and `крова`; `диванов` and `кровати`
become `диван` and `кроват`. A query searches for both stems.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

_NOUN: Final = re.compile(
    r"(?P<short>\w{2,}[ая])(?:(?P<hard>[нл])(?:а|у|ом|е|ы|ов|ам|ами|ах)?|(?P<soft>т)(?:ь|и|ей|ью|ям|ями|ях))"
)
# Each such noun doubles the spellings of a query.
_MOST: Final = 3


def other_stems(words: Sequence[str], stems: Sequence[str]) -> list[list[str]]:
    """Return other combinations of stems of the same words: `кроват` instead of `крова`, and the reverse.

    Args:
        words: words in lower case.
        stems: stems of the words, in their order.
    """
    choices = [[stem] for stem in stems]
    found = 0
    for choice, word in zip(choices, words, strict=True):
        if found < _MOST and (other := _other_stem(word, choice[0])):
            choice.append(other)
            found += 1
    return [list(each) for each in itertools.product(*choices)][1:]


def _other_stem(word: str, stem: str) -> str:
    noun = _NOUN.fullmatch(word)
    if noun is None:
        return ""
    short = noun["short"]
    whole = short + (noun["hard"] or noun["soft"])
    return {short: whole, whole: short}.get(stem, "")
