"""`classifeed task confirm|reject`: decide about a held load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.commands.feed.loading import follow_load
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceArgument, SellerArgument
from classifeed_cli.output import Output
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.task import show_task
from classifeed_client import Client, task_name

_HeldTask = Annotated[int, typer.Argument(metavar="TASK", min=1, help="Number of the held task.")]
_Timeout = Annotated[float, typer.Option(min=1, help="How long to wait for the end, in seconds.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(confirm)
    group.command()(reject)


@with_session
def confirm(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: _HeldTask,
    timeout: _Timeout = 600,
) -> int:
    """Have a held load make its changes and remove what it lacks, wait for its end, and print what became of it."""
    with session.client() as client:
        return _decide(client, client.confirm_task, session.out, task_name(seller, namespace, task), timeout)


@with_session
def reject(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: _HeldTask,
    timeout: _Timeout = 600,
) -> int:
    """Have a held load leave its changes and keep what it lacks, wait for its end, and print what became of it."""
    with session.client() as client:
        return _decide(client, client.reject_task, session.out, task_name(seller, namespace, task), timeout)


def _decide(client: Client, ask: Callable[[str], task_pb2.Task], out: Output, name: str, timeout_s: float) -> int:
    ended = follow_load(client, out, ask(name).name, timeout_s)
    show_task(out, ended)
    out.document(document_of(ended))
    return ExitCode.DONE if ended.status == task_pb2.TASK_STATUS_SUCCEEDED else ExitCode.REFUSED
