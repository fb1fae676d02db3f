"""Points, and the exemptions from verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from classifeed_moderation.domain.rules import RuleSet


class AuthorRole(StrEnum):
    """Role of an author."""

    USER = "USER"
    PARTNER = "PARTNER"
    MODERATOR = "MODERATOR"
    EXPERT = "EXPERT"


@dataclass(frozen=True, slots=True)
class Author:
    """Author of a point or comment."""

    author_id: str
    role: AuthorRole


@dataclass(frozen=True, slots=True)
class Point:
    """A row of a point; its text and moderation status are in `subjects`."""

    point_id: UUID
    author: Author
    tags: tuple[str, ...]
    latitude: float
    longitude: float
    votes_for: int
    votes_against: int
    comments: int
    version: int
    created_at: datetime
    updated_at: datetime
    removed_at: datetime | None


def exemption_of(role: AuthorRole, description: str, tags: Sequence[str], rules: RuleSet) -> str:
    """Return the reason why a point needs no verdict, as the rule of its decision; "": it needs one."""
    if role is not AuthorRole.USER:
        return "trusted_author"
    if not description.strip():
        return "empty_text"
    return "lanes_only" if rules.is_exempt(description, tags) else ""
