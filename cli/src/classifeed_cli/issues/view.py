"""Output of groups of issues for people: error, fix, excerpt with a caret, and further places."""

from __future__ import annotations

import re
from collections.abc import Sequence

from classifeed.feeds.v1 import load_pb2
from classifeed_cli.issues.groups import Group
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.excerpt import excerpt_lines
from classifeed_cli.views.place import place_of, short_place_of


def show_groups(out: Output, groups: Sequence[Group]) -> None:
    """Print a block for each group, with an empty line between two."""
    for number, group in enumerate(groups):
        if number:
            out.say("")
        _show(out, group)


def _show(out: Output, group: Group) -> None:
    first = group.first
    level = enum_label(load_pb2.IssueLevel.DESCRIPTOR, first.level).lower()
    times = f", {group.count:,} times" if group.count > 1 else ""
    about = f", {one_line(first.field)}" if first.field else ""
    out.say(f"{one_line(first.title)} ({level} {first.code}{about}){times}")
    out.say(f"  {one_line(first.message)}", hang=2)
    if first.suggestion:
        out.say(f"  {one_line(first.suggestion)}", hang=2)
    out.say(f"  {place_of(first)}: {one_line(first.external_id)}", hang=4)
    for line in excerpt_lines(first.excerpt, _fault(first), None if out.edge is None else out.edge - 4):
        out.say(f"    {line}")
    if group.further:
        places = ", ".join(f"{short_place_of(each)} {one_line(each.external_id)}" for each in group.further)
        left = group.count - 1 - len(group.further)
        out.say(f"  also {places}{f' and {left:,} more' if left else ''}", hang=4)


def _fault(issue: load_pb2.OfferError) -> str:
    """Return the faulty text in the excerpt: the value, or the empty element."""
    if issue.value or not issue.field:
        return issue.value
    name = re.escape(issue.field)
    found = re.search(rf"<{name}(?:\s[^<>]*)?(?:/>|>\s*</{name}\s*>)", issue.excerpt)
    return found[0] if found else ""
