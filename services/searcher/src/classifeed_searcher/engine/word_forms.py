"""Nouns that the stemmer of Russian takes for verbs in some of their forms, and so cuts in two ways.

`Диван` and `кровать` lose what would be a verb's ending and become `дива` and `крова`; `диванов` and `кровати` become
`диван` and `кроват`. A query is for both stems.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

_NOUN: Final = re.compile(
    r"(?P<short>\w{2,}[ая])(?:(?P<hard>[нл])(?:а|у|ом|е|ы|ов|ам|ами|ах)?|(?P<soft>т)(?:ь|и|ей|ью|ям|ями|ях))"
)
# Each of them doubles the spellings of a query.
_MOST: Final = 3


def other_stems(words: Sequence[str], stems: Sequence[str]) -> list[list[str]]:
    """Return how else the same words may stand in an index: `кроват` where they have `крова`, and the other way round.

    Args:
        words: in lower case.
        stems: of the words, in their order.
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
