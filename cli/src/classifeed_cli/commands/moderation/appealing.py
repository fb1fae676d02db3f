"""`classifeed moderation appeal|appeals|response|decide`."""

from __future__ import annotations

from typing import Annotated

import typer

from classifeed.moderation.v1 import moderation_service_pb2, subject_pb2
from classifeed_cli.commands.moderation.options import KeyArgument
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.moderation import show_appeals, show_decision

_Number = Annotated[int, typer.Argument(min=1, help="Number of the appeal.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (appeal, appeals, response, decide):
        group.command()(command)


@with_session
def appeal(
    session: Session,
    key: KeyArgument,
    reason: Annotated[str, typer.Argument(help="Why the text should be shown.")],
    author: Annotated[str, typer.Option("--author", help="Author of the text, or seller of the offer.")],
) -> None:
    """Appeal against the decision that refuses a text; another reviewer decides."""
    out = session.out
    with session.moderation_client() as client:
        made = client.appeal(key, author, reason)
    out.say(f"appeal {made.appeal_id} against decision {made.decision.decision_id} is stored")
    out.document(document_of(made))


@with_session
def appeals(
    session: Session,
    limit: Annotated[int, typer.Option(min=1, help="Appeals to print.")] = 50,
) -> None:
    """List the appeals without a decision, oldest first."""
    out = session.out
    with session.moderation_client() as client:
        found = collect(client.list_appeals, moderation_service_pb2.ListAppealsRequest(), "appeals", limit)
    show_appeals(out, found.appeals)
    if found.next_page_token:
        out.say(f"… more than {limit}; increase --limit to see more")
    out.document(document_of(found))


@with_session
def response(session: Session, number: _Number) -> None:
    """Print the outcome of an appeal, in words for its author."""
    with session.moderation_client() as client:
        session.show(lambda out, found: out.say(found.response), client.get_appeal(number))


@with_session
def decide(
    session: Session,
    number: _Number,
    reviewer: Annotated[
        str, typer.Option("--reviewer", help="Reviewer who decides; not the one of the first decision.")
    ],
    is_approved: Annotated[bool, typer.Option("--approve/--refuse", help="Show the text, or keep it refused.")],
    rule: Annotated[str, typer.Option("--rule", help="Rule that the decision follows.")] = "appeal",
    words: Annotated[str, typer.Option("--response", help="Sentences for the author.")] = "",
) -> None:
    """Decide an appeal."""
    status = subject_pb2.MODERATION_STATUS_APPROVED if is_approved else subject_pb2.MODERATION_STATUS_DISAPPROVED
    request = moderation_service_pb2.DecideAppealRequest(
        appeal_id=number, status=status, reviewer=reviewer, rule=rule, response=words
    )
    with session.moderation_client() as client:
        session.show(show_decision, client.decide_appeal(request))
