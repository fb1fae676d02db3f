"""`classifeed moderation pending|show|check|figures`."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Final

import typer

from classifeed.moderation.v1 import moderation_service_pb2
from classifeed_cli.commands.moderation.options import KeyArgument, Kind
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.moderation import APPROVED, PENDING, figures_by, show_check, show_subject
from classifeed_client import ModerationClient

_SHOWN_DECISIONS: Final = 100


class Interval(StrEnum):
    """Lengths of intervals of figures, as typed on the command line."""

    HOUR = "hour"
    DAY = "day"


class Dimension(StrEnum):
    """Dimensions that figures are grouped by, as typed on the command line."""

    TOTAL = "total"
    TAG = "tag"
    REGION = "region"
    VERDICT = "verdict"


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (pending, show, check, figures):
        group.command()(command)


@with_session
def pending(
    session: Session,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only texts of this kind.")] = None,
    region: Annotated[int | None, typer.Option(min=1, help="Only texts of this region.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Only texts that have this verdict and wait to be judged again.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Texts of each kind to print.")] = 20,
) -> None:
    """List the texts that wait for a verdict, in the order of their next attempt."""
    out = session.out
    with session.moderation_client() as client:
        wanted = moderation_service_pb2.ListPendingRequest(region_id=region or 0, verdict=verdict or "")
        pages = {each: _list_pending(client, wanted, each, limit) for each in ([kind] if kind else Kind)}
    found = [subject for page in pages.values() for subject in page.subjects]
    out.rows(PENDING, found)
    for each, page in pages.items():
        if page.next_page_token:
            out.say(f"… more than {limit} of kind {each}; increase --limit to see more")
    out.document({"subjects": [document_of(subject) for subject in found]})


@with_session
def show(session: Session, key: KeyArgument) -> None:
    """Print a text, the state of its moderation, and every decision about it."""
    out = session.out
    with session.moderation_client() as client:
        subject = client.get_subject(key)
        decisions = client.list_events(key, page_size=_SHOWN_DECISIONS)
    show_subject(out, subject, decisions)
    out.document({**document_of(subject), "decisions": [document_of(decision) for decision in decisions]})


@with_session
def check(
    session: Session,
    text: Annotated[str, typer.Argument(help="The text; - reads it from stdin.")],
    kind: Annotated[Kind, typer.Option("--kind", help="Kind of the text.")] = Kind.OFFER,
    region: Annotated[list[int] | None, typer.Option(min=1, help="Region, nearest first; may be repeated.")] = None,
) -> int:
    """Check a text without storing anything: print its decision. Exit code 1 unless it would be approved."""
    written = sys.stdin.read() if text == "-" else text
    request = moderation_service_pb2.CheckTextRequest(text=written, kind=kind.label, region_ids=region or [])
    with session.moderation_client() as client:
        checked = client.check_text(request)
    session.show(show_check, checked)
    return ExitCode.DONE if checked.status == APPROVED else ExitCode.REFUSED


@with_session
def figures(
    session: Session,
    by: Annotated[Interval, typer.Option("--by", help="Length of an interval.")] = Interval.HOUR,
    of: Annotated[Dimension, typer.Option("--of", help="Attribute that groups the decisions.")] = Dimension.TOTAL,
    last: Annotated[int, typer.Option("--last", min=1, max=744, help="Intervals to count.")] = 24,
) -> None:
    """Count the decisions by hour or day: how many, by whom, and how long their texts waited."""
    out = session.out
    with session.moderation_client() as client:
        counted = client.get_figures(f"FIGURE_INTERVAL_{by.name}", last)
    found = moderation_service_pb2.Figures(rows=[row for row in counted.rows if row.dimension == of])
    out.rows(figures_by("%Y-%m-%d" if by is Interval.DAY else "%m-%d %H:00"), found.rows)
    out.document(document_of(found))


def _list_pending(
    client: ModerationClient, wanted: moderation_service_pb2.ListPendingRequest, kind: Kind, limit: int
) -> moderation_service_pb2.ListPendingResponse:
    request = moderation_service_pb2.ListPendingRequest(kind=kind.label)
    request.MergeFrom(wanted)
    return collect(client.list_pending, request, "subjects", limit)
