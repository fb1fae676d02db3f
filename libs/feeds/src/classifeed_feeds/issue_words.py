"""Texts of issues, composed when an issue is read, from its code, its parameters and the names of its format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed_feeds.error_codes import ISSUES, IssueCode
from classifeed_feeds.formats.registry import FORMATS, format_named
from classifeed_feeds.mapping.issues import clip

_QUOTED_CHARS: Final = 80
_PLACE: Final = re.compile(r"\{(\w+)[^{}]*\}")
_BLANK: Final = re.compile(r"\s")


class IssueWords:
    """Composes the texts of issues with the names of one format."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._words = {code: _Words.of(meaning, names) for code, meaning in ISSUES.items()}

    @classmethod
    @lru_cache(maxsize=32)
    def of_format(cls, name: str) -> Self:
        """Return the words for a format; if this version does not know its name, those of the first format."""
        try:
            found = format_named(name)
        except KeyError:
            found = FORMATS[0]
        return cls(found.names.words())

    def describe(self, error: OfferError) -> None:
        """Fill in title, message, suggestion and expected, unless the issue has a message.

        If this version does not know the issue's code, the code becomes the title.
        """
        if error.message:
            return
        words = self._words.get(error.code)
        if words is None:
            error.title = error.title or error.code
            return
        details = _Details()
        for parameter in error.parameters:
            details[parameter.name] = parameter.text if parameter.HasField("text") else parameter.number
        has_space = bool(details.get("has_space"))
        blank = _BLANK.search(error.value) if has_space else None
        details["value"] = clip(error.value, _QUOTED_CHARS, blank.start() if blank else -1)
        details["field"] = error.field
        details["because"] = ", for it holds a space" if has_space else ""
        message = words.message.format_map(details)
        if error.count > 1:
            message = f"{message} It is the first of {error.count:,} such values in this offer."
        error.title = words.meaning.title
        error.message = message
        error.expected = words.expected.format_map(details)
        error.suggestion = words.suggestion


@dataclass(frozen=True, slots=True)
class _Words:
    """Texts of one code with the names of one format; message and expected have placeholders for the parameters."""

    meaning: IssueCode
    message: str
    expected: str
    suggestion: str

    @classmethod
    def of(cls, meaning: IssueCode, names: Mapping[str, str]) -> _Words:
        """Return the texts with the format's names filled in."""
        message, expected = _fill(meaning.message, names), _fill(meaning.expected, names)
        return cls(meaning, message, expected, meaning.suggestion.format_map(names))


class _Details(dict[str, object]):
    """Parameters of an issue; a missing one, if another version stored the issue, is shown as an ellipsis."""

    def __missing__(self, name: str) -> object:
        return _Missing()


class _Missing:
    def __format__(self, spec: str) -> str:
        return "…"


def _fill(text: str, names: Mapping[str, str]) -> str:
    """Return a format string with some of its names filled in, and the others left in it."""
    return _PLACE.sub(lambda place: names[place[1]].replace("{", "{{") if place[1] in names else place[0], text)
