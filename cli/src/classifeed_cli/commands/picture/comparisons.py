"""`classifeed picture comparisons|confirm`: comparisons that find unused pictures, and their confirmation."""

from __future__ import annotations

from typing import Annotated

import typer

from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.comparison import count_words, show_comparison, show_comparisons


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(comparisons)
    group.command("confirm")(confirm_comparison)


@with_session
def comparisons(session: Session) -> None:
    """List the newest comparisons of stored pictures with those that offers use: unused pictures, held deletions."""
    with session.picture_client() as client:
        found = client.list_comparisons()
    show_comparisons(session.out, found)
    session.out.document({"comparisons": [document_of(each) for each in found]})


@with_session
def confirm_comparison(
    session: Session,
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Number of the held comparison.")],
    yes: YesOption = False,
) -> None:
    """Let a held comparison mark the pictures that no offer uses, or delete those that are marked already."""
    with session.picture_client() as client:
        known = next((each for each in client.list_comparisons() if each.comparison_id == number), None)
        what = count_words(known) if known else "the pictures"
        confirm(session.out, f"Mark {what} that no offer uses, and delete those marked a day ago?", yes=yes)
        confirmed = client.confirm_comparison(number)
    session.show(show_comparison, confirmed)
