"""Output of points and their comments for people."""

from __future__ import annotations

from typing import Final

from classifeed.moderation.v1 import subject_pb2
from classifeed.points.v1 import point_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import time_words
from classifeed_cli.views.moderation import status_words, verdict_words


def show_point(out: Output, point: point_pb2.Point) -> None:
    """Print a point with its comments."""
    out.say(f"{_point_id(point)}: {status_words(point.moderation.status)}")
    fields = {
        "tags": ", ".join(point.tags),
        "text": one_line(point.description),
        "at": _place(point.location),
        "author": _author(point.author),
        "regions": ", ".join(map(str, point.region_ids)),
        "votes": f"{point.votes_for} there, {point.votes_against} gone",
        "verdicts": verdict_words(point.moderation.verdicts),
        "created": time_words(point.create_time),
    }
    out.fields(fields, width=10)
    for comment in point.comments:
        show_comment(out, comment)


def show_comment(out: Output, comment: point_pb2.Comment) -> None:
    """Print a comment."""
    number = comment.name.rpartition("/")[2]
    status = status_words(comment.moderation.status)
    out.say(f"comment {number} of {_author(comment.author)}, {status}: {one_line(comment.text)}")


def _point_id(point: point_pb2.Point) -> str:
    return point.name.removeprefix("points/")


def _place(location: point_pb2.Location) -> str:
    return f"{location.latitude:.6f}, {location.longitude:.6f}"


def _author(author: point_pb2.Author) -> str:
    return f"{author.author_id} ({enum_label(subject_pb2.AuthorRole.DESCRIPTOR, author.role).lower()})"


POINTS: Final = Table[point_pb2.Point](
    {
        "point": _point_id,
        "status": lambda point: status_words(point.moderation.status),
        "votes": lambda point: f"+{point.votes_for} -{point.votes_against}",
        "tags": lambda point: ", ".join(point.tags),
        "text": lambda point: point.description,
    },
    empty="no points there",
)
