"""The argument for a task: its number, or `latest`."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_client import Client, feed_name, task_name

LATEST: Final = "latest"
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")


def _check_task(given: str) -> str:
    if given != LATEST and not _NUMBER.fullmatch(given):
        raise typer.BadParameter(
            f"{given!r} is neither the number of a task nor `{LATEST}`. `classifeed task list` prints the numbers."
        )
    return given


TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", callback=_check_task, help=f"Number of the task, or `{LATEST}`.")
]


def find_task(client: Client, seller: str, namespace: str, task: str) -> task_pb2.Task:
    """Return the task of the argument.

    Raises:
        CommandError: REFUSED, TASK_NOT_FOUND: the namespace has no tasks.
        Refused: There is no task with this number.
    """
    if task != LATEST:
        return client.get_task(task_name(seller, namespace, int(task)))
    newest = client.list_tasks(feed_name(seller, namespace), page_size=1).tasks
    if not newest:
        raise CommandError(ExitCode.REFUSED, "TASK_NOT_FOUND", f"{seller} has no loads in {namespace}.")
    return client.get_task(newest[0].name)
