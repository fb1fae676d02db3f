"""`classifeed cleanweb …`: texts that people review, and the callbacks with their verdicts."""

from __future__ import annotations

from typing import Annotated

import typer

from classifeed_cli.exit_codes import refused
from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.cleanweb import CALLBACKS, QUEUES, show_review

_app = typer.Typer(help="Texts that people review, and the callbacks with their verdicts.", no_args_is_help=True)
_Reviewer = Annotated[str, typer.Option("--reviewer", help="Name of the reviewer.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(_app, name="cleanweb")


@_app.command()
@with_session
def queues(session: Session) -> None:
    """List the projects: the texts that wait, since when, and the number of reviewers."""
    out = session.out
    with session.moderation_client() as client:
        found = client.get_queues()
    out.rows(QUEUES, found)
    out.document({"queues": [document_of(queue) for queue in found]})


@_app.command()
@with_session
def claim(
    session: Session,
    project: Annotated[str, typer.Argument(help="Name of the project, from `cleanweb queues`.")],
    reviewer: _Reviewer,
) -> None:
    """Lease the oldest text of a project and print it, with the instructions and the possible verdicts."""
    with session.moderation_client() as client:
        session.show(show_review, client.claim_review(project, reviewer))


@_app.command()
@with_session
def submit(
    session: Session,
    review: Annotated[int, typer.Argument(min=1, help="Number of the review.")],
    reviewer: _Reviewer,
    verdict: Annotated[
        list[str] | None, typer.Argument(help="Verdicts that apply; without any, the text is clean.")
    ] = None,
) -> None:
    """Submit an opinion about a claimed text. Two equal opinions complete its review."""
    out = session.out
    with session.moderation_client() as client:
        is_ended = client.submit_opinion(review, reviewer, verdict or [])
    ended = "is complete: its verdicts are being sent" if is_ended else "continues: another reviewer must see the text"
    out.say(f"stored; review {review} {ended}")
    out.document({"ended": is_ended})


@_app.command()
@with_session
def callbacks(
    session: Session,
    given_up: Annotated[bool, typer.Option("--given-up", help="Only callbacks that were given up.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Callbacks to print.")] = 50,
) -> None:
    """List callbacks that were not delivered, oldest first."""
    out = session.out
    with session.moderation_client() as client:
        found = client.list_callbacks(given_up=given_up, page_size=limit)
    out.rows(CALLBACKS, found)
    if len(found) == limit:
        out.say("… there may be more; increase --limit to see more")
    out.document({"callbacks": [document_of(callback) for callback in found]})


@_app.command()
@with_session
def resend(
    session: Session,
    number: Annotated[int, typer.Argument(min=0, help="Number of the callback; without it, all.")] = 0,
    yes: YesOption = False,
) -> None:
    """Send a given-up callback again, or all of them."""
    out = session.out
    if not number:
        confirm(out, "Send all given-up callbacks again?", yes=yes)
    with session.moderation_client() as client:
        sent = client.resend_callbacks(number)
    if number and not sent:
        raise refused(
            "CALLBACK_NOT_GIVEN_UP",
            f"Callback {number} is not a given-up callback; see `classifeed cleanweb callbacks`.",
            callback_id=str(number),
        )
    out.say(f"{sent} callbacks are sent again")
    out.document({"callbacks": sent})
