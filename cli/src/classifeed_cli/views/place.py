"""The place of an issue in the file, for people."""

from __future__ import annotations

from classifeed.feeds.v1 import load_pb2


def place_of(issue: load_pb2.OfferError) -> str:
    """Return line and column; for an issue without a line, the position of its offer, if it is known."""
    column = f", column {issue.column}" if issue.line and issue.column else ""
    return f"{_line_of(issue)}{column}"


def short_place_of(issue: load_pb2.OfferError) -> str:
    """Return the same for a list of places, such as “line 20:16”."""
    return f"{_line_of(issue)}:{issue.column}" if issue.line and issue.column else _line_of(issue)


def _line_of(issue: load_pb2.OfferError) -> str:
    if issue.line:
        return f"line {issue.line}"
    # Issues that are found after the load have no position.
    return f"offer {issue.ordinal} of the file" if issue.ordinal else "offer"
