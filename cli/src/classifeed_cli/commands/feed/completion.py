"""Output and exit code of commands that have waited for a load."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from classifeed.feeds.v1 import feed_pb2, task_pb2
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.fetch import show_fetch
from classifeed_cli.views.load_status import refused_share
from classifeed_cli.views.task import show_task

_SHARE: Final = re.compile(r"(\d+(?:\.\d+)?)(%?)")
_NOTHING_CHANGED: Final = frozenset({feed_pb2.FETCH_OUTCOME_NOT_MODIFIED, feed_pb2.FETCH_OUTCOME_SAME_CONTENT})


def parse_share(text: str) -> float:
    """Return a share that was typed as 10% or 0.1.

    Raises:
        typer.BadParameter: The text is not a share.
    """
    found = _SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"{text!r} is not a share of the offers; write it as 10% or 0.1")
    return share


FailOnRejectedOption = Annotated[
    float | None,
    typer.Option(
        "--fail-on-rejected",
        parser=parse_share,
        metavar="[=SHARE]",
        help="Exit 1 if more than this share of the offers was rejected, such as =10%; without a share, if any was.",
    ),
]


def end_load(out: Output, task: task_pb2.Task, fail_on_rejected: float | None) -> ExitCode:
    """Print a task that is complete or held, and return the exit code."""
    show_task(out, task)
    if task.status != task_pb2.TASK_STATUS_SUCCEEDED:
        return ExitCode.REFUSED
    share = refused_share(task.statistics)
    if fail_on_rejected is None or share <= fail_on_rejected:
        return ExitCode.DONE
    out.fail(f"{share:.1%} of the offers were rejected, and --fail-on-rejected allows {fail_on_rejected:.1%}")
    return ExitCode.REFUSED


def end_fetch(
    out: Output, fetch: feed_pb2.Fetch, task: task_pb2.Task | None, fail_on_rejected: float | None
) -> ExitCode:
    """Print a completed fetch with the load of its file, and return the exit code.

    If the file is unchanged, the exit code is that of its last load: an unchanged page that is not a feed still fails.
    """
    show_fetch(out, fetch)
    if task is not None:
        return end_load(out, task, fail_on_rejected)
    is_well = fetch.outcome in _NOTHING_CHANGED and fetch.load.status != task_pb2.TASK_STATUS_FAILED
    return ExitCode.DONE if is_well else ExitCode.REFUSED
