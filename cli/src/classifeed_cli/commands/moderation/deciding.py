"""`classifeed moderation apply|rejudge`."""

from __future__ import annotations

import time
import uuid
from typing import Annotated, Final

import typer

from classifeed.moderation.v1 import moderation_service_pb2
from classifeed_cli.commands.moderation.options import KeyArgument, Kind
from classifeed_cli.exit_codes import refused, timed_out
from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.terminal.interruption import Interruption
from classifeed_cli.views.moderation import show_decision, show_rejudgement
from classifeed_client import ModerationClient

_PAUSE_S: Final = 0.3


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (apply, rejudge):
        group.command()(command)


@with_session
def apply(
    session: Session,
    key: KeyArgument,
    verdicts: Annotated[
        list[str] | None, typer.Argument(help="Verdicts, such as text_toloka_obscene; without any, the text is clean.")
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="These are not all verdicts: more will come.")] = False,
) -> None:
    """Apply verdicts to the current text of a subject, in place of a verdict service that cannot.

    Needs a token of services.
    """
    out = session.out
    if partial and not verdicts:
        raise typer.BadParameter("--partial needs at least one verdict")
    with session.moderation_client(as_service=True) as client:
        applied = client.apply_verdicts(_versioned(client, key), verdicts or [], has_end=not partial)
    if applied.unknown_keys:
        raise refused("TEXT_NOT_FOUND", f"There is no text with the key {key!r}. Correct the key.", key=key)
    for decision in applied.decisions:
        show_decision(out, decision)
    if not applied.decisions:
        out.say(f"{key}: these verdicts decide nothing, and nothing has changed")
    out.document(document_of(applied))


@with_session
def rejudge(
    session: Session,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only texts of this kind.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the changes.")] = False,
    request: Annotated[str, typer.Option("--request", help="Number of an earlier request, to wait for it.")] = "",
    timeout: Annotated[float, typer.Option(min=0.0, help="Maximum time to wait for completion, in seconds.")] = 600.0,
    yes: YesOption = False,
) -> None:
    """Judge stored verdicts again by the current rules, without a request to the verdict service."""
    out = session.out
    if request and (kind or dry_run):
        raise typer.BadParameter("--request cannot be combined with --kind or --dry-run")
    what = f"every {kind}" if kind else "every text"
    if not dry_run and not request:
        confirm(out, f"Judge {what} again, and show or remove it accordingly? See --dry-run first.", yes=yes)
    with session.moderation_client() as client:
        begun = _begin(client, kind, dry_run=dry_run) if not request else client.get_rejudgement(request)
        done = _wait(client, begun, timeout)
    session.show(show_rejudgement, done)


def _versioned(client: ModerationClient, key: str) -> str:
    """Return the key, for offers with the hash of the current text: verdicts are only applied to a known version."""
    if not key.startswith("offer/") or "~" in key:
        return key
    return f"{key}~{client.get_subject(key).text_hash.hex()}"


def _begin(client: ModerationClient, kind: Kind | None, *, dry_run: bool) -> moderation_service_pb2.Rejudgement:
    label = kind.label if kind else None
    return client.rejudge(
        moderation_service_pb2.RejudgeRequest(request_id=uuid.uuid4().hex, kind=label, dry_run=dry_run)
    )


def _wait(
    client: ModerationClient, rejudgement: moderation_service_pb2.Rejudgement, timeout_s: float
) -> moderation_service_pb2.Rejudgement:
    ends_at = time.monotonic() + timeout_s
    number = rejudgement.request_id
    look = f"classifeed moderation rejudge --request {number}"
    with Interruption(f"only the waiting was stopped: the judging continues; see `{look}`"):
        while not rejudgement.done:
            if time.monotonic() >= ends_at:
                raise timed_out(
                    "REJUDGE_NOT_ENDED",
                    f"It has not completed within {timeout_s:g} s ({rejudgement.judged} texts so far), and continues; "
                    f"check again with `{look}`.",
                    request_id=number,
                )
            time.sleep(_PAUSE_S)
            rejudgement = client.get_rejudgement(number)
    return rejudgement
