"""A query as a tree, independent of its text form and of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Everything:
    """Matches all documents."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word in any of its forms, in one field; None: in any of the fields that are searched by default."""

    text: str
    field: str | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Prefix:
    """Words with a prefix."""

    text: str
    field: str | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words next to each other, in this order."""

    text: str
    field: str | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Between:
    """Values of a field between two inclusive bounds, given as text; None: no bound."""

    field: str
    low: str | None
    high: str | None
    position: int = 0


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part must match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part must match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The part must not match."""

    part: Node


Node: TypeAlias = Everything | Word | Prefix | Phrase | Between | AllOf | AnyOf | NoneOf


def has_word(text: str) -> bool:
    """Return whether a text has a letter or a digit, which are the characters that are searched for."""
    return any(character.isalnum() for character in text)


class QueryError(ValueError):
    """A query is invalid.

    Attributes:
        position: position in the text, in characters from 1; 0: the error is about the whole query.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position
