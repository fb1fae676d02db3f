"""`classifeed task confirm|reject`: decisions about a held load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.commands.feed.loading import follow_load
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.options import NamespaceArgument, SellerArgument
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.task import show_task
from classifeed_client import Client, task_name

_CONFIRM: Final = (
    "Let a held load make its changes and remove the offers it lacks, wait for completion, and print the outcome."
)
_REJECT: Final = (
    "Let a held load drop its changes and keep the offers it lacks, wait for completion, and print the outcome."
)
_HeldTask = Annotated[int, typer.Argument(metavar="TASK", min=1, help="Number of the held task.")]
_Timeout = Annotated[float, typer.Option(min=1, help="Maximum time to wait for completion, in seconds.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("confirm", help=_CONFIRM)(_deciding(Client.confirm_task))
    group.command("reject", help=_REJECT)(_deciding(Client.reject_task))


def _deciding(call: Callable[[Client, str], task_pb2.Task]) -> Callable[..., int]:
    """Return a command that makes one call for a held load, and waits for its completion."""

    @with_session
    def command(
        session: Session,
        seller: SellerArgument,
        namespace: NamespaceArgument,
        task: _HeldTask,
        timeout: _Timeout = 600,
    ) -> int:
        name = task_name(seller, namespace, task)
        with session.client() as client:
            ended = follow_load(client, session.out, call(client, name).name, timeout)
        session.show(show_task, ended)
        return ExitCode.DONE if ended.status == task_pb2.TASK_STATUS_SUCCEEDED else ExitCode.REFUSED

    return command
