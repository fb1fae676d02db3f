"""Groups of equal issues: one group for each level, code, field and value, with the places in the file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from classifeed.feeds.v1 import load_pb2

_PLACES: Final = 8


@dataclass(slots=True)
class Group:
    """A group of equal issues.

    Attributes:
        first: First issue, shown for the group.
        count: Number of issues.
        further: Next issues, whose places are listed.
    """

    first: load_pb2.OfferError
    count: int = 1
    further: list[load_pb2.OfferError] = field(default_factory=list)


def group_issues(issues: Iterable[load_pb2.OfferError]) -> list[Group]:
    """Return the groups: errors before warnings, then the largest first, then in the order of the file."""
    groups: dict[tuple[int, str, str, str], Group] = {}
    for issue in issues:
        key = (issue.level, issue.code, issue.field, issue.value)
        group = groups.get(key)
        if group is None:
            groups[key] = Group(issue)
            continue
        group.count += 1
        if len(group.further) < _PLACES:
            group.further.append(issue)
    return sorted(groups.values(), key=lambda group: (group.first.level, -group.count))
