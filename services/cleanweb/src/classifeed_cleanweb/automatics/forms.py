"""Word forms from a short notation.

`{a,b,}c` is `ac`, `bc`, `c`; braces may nest. `stem<name>` is the stem with each suffix of the list `name`. The forms
have the order of the notation, so that each build yields the same list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from classifeed_cleanweb.automatics.alphabet import MASK_SIGN

MAX_FORMS: Final = 20_000
_VOWELS: Final = frozenset("аеиоуыэюяaeiouy")
_SUFFIXES: Final = re.compile(r"<([\w-]+)>")
_MIN_MASKED: Final = 3
_SHORT: Final = 4


class NotationError(ValueError):
    """A notation cannot be expanded."""


def expand(notation: str, suffixes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the unique forms of a notation.

    Raises:
        NotationError: braces do not match, a list of suffixes is unknown, or there are more than MAX_FORMS forms.
    """

    def listed(found: re.Match[str]) -> str:
        if found[1] not in suffixes:
            raise NotationError(f"`{found[0]}`: there is no list of suffixes `{found[1]}`; declare it under `suffixes`")
        return "{" + ",".join(suffixes[found[1]]) + "}"

    text = _SUFFIXES.sub(listed, notation)
    forms, rest = _alternatives(text, 0, 0)
    if rest != len(text):
        raise NotationError(f"`{notation}`: `{text[rest]}` without `{{` before it")
    return list(dict.fromkeys(forms))


def _alternatives(text: str, place: int, depth: int) -> tuple[list[str], int]:
    """Return the forms from a place to the closing brace or the end, and the place of that end."""
    forms: list[str] = []
    current = [""]
    while place < len(text):
        sign = text[place]
        if sign == "{":
            inner, place = _alternatives(text, place + 1, depth + 1)
            if place == len(text):
                raise NotationError(f"`{text}`: `{{` is not closed")
            if len(current) * len(inner) > MAX_FORMS:
                raise NotationError(f"`{text}`: more than {MAX_FORMS:,} forms; split the rule")
            current = [form + suffix for form in current for suffix in inner]
        elif sign == "}" or (sign == "," and depth):
            forms += current
            if sign == "}":
                return forms, place
            current = [""]
        else:
            current = [form + sign for form in current]
        place += 1
    return forms + current, place


def masked(form: str) -> list[str]:
    """Return a form with each inner vowel masked, one at a time; a short form also with all inner letters masked."""
    if " " in form or len(form) < _MIN_MASKED:
        return []
    hidden = [
        form[:place] + MASK_SIGN + form[place + 1 :] for place in range(1, len(form) - 1) if form[place] in _VOWELS
    ]
    short = [f"{form[0]}{MASK_SIGN}{form[-1]}"] if len(form) <= _SHORT else []
    return list(dict.fromkeys(hidden + short))
