"""A query as a tree: what every engine translates, whatever form the user wrote it in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Everything:
    """Matches all documents."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word in any of its forms; without a field, in any of the fields that are searched by default."""

    text: str
    field: str | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Prefix:
    """Words that begin so."""

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
    """Values of a field between two bounds, both included; None is no bound. Bounds are still text."""

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
    """One part at least must match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The part must not match."""

    part: Node


Node: TypeAlias = Everything | Word | Prefix | Phrase | Between | AllOf | AnyOf | NoneOf


def has_word(text: str) -> bool:
    """Whether a text has anything that is searched for: a letter or a digit."""
    return any(character.isalnum() for character in text)


class QueryError(ValueError):
    """A query that cannot be read.

    Attributes:
        position: where in the text, in characters from 1; 0 when it is about the whole.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position
