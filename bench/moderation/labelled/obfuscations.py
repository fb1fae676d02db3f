"""Ways to hide a word: each function returns a changed word with its letters in order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

_TWINS: Final = {
    "а": "a", "е": "e", "о": "o", "р": "p", "с": "c", "у": "y", "х": "x", "к": "k", "в": "b", "н": "h", "м": "m",
    "т": "t", "и": "u",
    "a": "а", "e": "е", "o": "о", "p": "р", "c": "с", "y": "у", "x": "х", "k": "κ", "i": "і", "s": "ѕ", "u": "υ",
    "t": "τ",
}  # fmt: skip
_LEET: Final = {
    "а": "@4", "о": "0", "з": "3", "е": "3", "б": "6", "в": "8", "и": "1", "ч": "4", "т": "7",
    "a": "@4", "o": "0", "e": "3", "i": "1!", "s": "$5", "t": "7", "b": "8", "g": "9", "l": "1",
}  # fmt: skip
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_ACCENTS: Final = "\u0301\u0300\u0308\u0336"


def _some(rng: random.Random, word: str, change: Callable[[str], str], share: float) -> str:
    """Change a share of the changeable letters, at least one."""
    able = [place for place, letter in enumerate(word) if change(letter.lower()) != letter.lower()]
    if not able:
        return word
    chosen = {place for place in able if rng.random() < share} or {rng.choice(able)}
    return "".join(change(letter.lower()) if place in chosen else letter for place, letter in enumerate(word))


def case(rng: random.Random, word: str) -> str:
    return rng.choice((word.upper(), word.title(), "".join(rng.choice((c.upper(), c.lower())) for c in word)))


def twins(rng: random.Random, word: str) -> str:
    return _some(rng, word, lambda letter: _TWINS.get(letter, letter), 0.6)


def leet(rng: random.Random, word: str) -> str:
    return _some(rng, word, lambda letter: rng.choice(_LEET[letter]) if letter in _LEET else letter, 0.6)


def invisible(rng: random.Random, word: str) -> str:
    return "".join(letter + (rng.choice(_INVISIBLE) if rng.random() < 0.6 else "") for letter in word[:-1]) + word[-1]


def accents(rng: random.Random, word: str) -> str:
    return "".join(letter + (rng.choice(_ACCENTS) if letter.isalpha() else "") for letter in word)


def spaced(rng: random.Random, word: str) -> str:
    return rng.choice((" ", "  ")).join(word.replace(" ", ""))


def dotted(rng: random.Random, word: str) -> str:
    return rng.choice((".", "-", "_", "*", ". ", "/")).join(word.replace(" ", ""))


def repeated(rng: random.Random, word: str) -> str:
    return "".join(letter * (rng.choice((1, 3, 5)) if letter.isalpha() else 1) for letter in word)


def split(rng: random.Random, word: str) -> str:
    place = rng.randrange(1, len(word))
    return word[:place] + rng.choice((".", "-", "_", "*")) + word[place:]


def masked(rng: random.Random, word: str) -> str:
    vowels = [place for place, letter in enumerate(word) if 0 < place < len(word) - 1 and letter in "аеёиоуыэюяaeiou"]
    if not vowels:
        return word
    place = rng.choice(vowels)
    return f"{word[:place]}*{word[place + 1 :]}"


def wide(_rng: random.Random, word: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in word.upper())


WAYS: Final[dict[str, Callable[[random.Random, str], str]]] = {
    way.__name__: way
    for way in (case, twins, leet, invisible, accents, spaced, dotted, repeated, split, masked, wide)
}  # fmt: skip
SOFT: Final = ("case", "twins", "invisible", "accents")
