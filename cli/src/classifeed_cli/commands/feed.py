"""`classifeed feed …`: hand in files."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.options import AddressOption, DataOption
from classifeed_cli.output import JsonOption, Output
from classifeed_cli.platform.installation import connect
from classifeed_cli.task_view import show_task
from classifeed_client import Client, DeadlineExceeded, Unreachable

_RETRY_S = 0.5


class Mode(StrEnum):
    """What a load does with the namespace."""

    REPLACE = "REPLACE"
    PATCH = "PATCH"


class Disposition(StrEnum):
    """What happens to offers that the file lacks."""

    DELETE = "DELETE"
    MAKE_MANUAL = "MAKE_MANUAL"


_app = typer.Typer(help="Hand in files.", no_args_is_help=True)


def _not_empty(value: str) -> str:
    # An unset variable must not load into another namespace than the one that was meant.
    if not value:
        raise typer.BadParameter("must not be empty; leave it out for `default`")
    return value


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(_app, name="feed")


@_app.command()
def upload(
    file: Annotated[Path, typer.Argument(help="The feed file; its name is a label only.", exists=True, dir_okay=False)],
    seller: Annotated[str, typer.Option(help="Seller who owns the offers.")],
    namespace: Annotated[str, typer.Option(help="Namespace within the seller.", callback=_not_empty)] = "default",
    mode: Annotated[Mode, typer.Option(help="REPLACE: the file is the whole namespace. PATCH: only what it names.")] = (
        Mode.REPLACE
    ),
    disposition: Annotated[
        Disposition, typer.Option(help="What happens to offers that a REPLACE load lacks.")
    ] = Disposition.DELETE,
    force: Annotated[bool, typer.Option("--force", help="Load although the namespace has a feed by link.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="How long to wait for the end, in seconds.")] = 600,
    data: DataOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> int:
    """Upload a file, wait until it is loaded, and print what became of it."""
    out = Output(as_json)
    with connect(data, address) as client:
        task = load_file(
            client,
            out,
            file,
            seller_id=seller,
            namespace=namespace,
            mode=mode.value,
            disposition=disposition.value,
            force=force,
            timeout_s=timeout,
        )
    show_task(out, task)
    out.document(document_of(task))
    return ExitCode.DONE if task.status == task_pb2.TASK_STATUS_SUCCEEDED else ExitCode.REFUSED


def load_file(
    client: Client,
    out: Output,
    file: Path,
    *,
    seller_id: str,
    namespace: str,
    mode: str = "REPLACE",
    disposition: str = "DELETE",
    force: bool = False,
    timeout_s: float = 600,
) -> task_pb2.Task:
    """Uploads a file and returns its task once it has ended or is held; shows a progress bar on the way.

    Raises:
        CommandError: the time ran out; the load goes on.
        ApiError: a call was refused.
    """
    ends_at = time.monotonic() + timeout_s
    with _progress(out) as progress:
        sending = progress.add_task(f"sending {file.name}", total=file.stat().st_size)
        stored = client.upload_feed(
            file,
            seller_id=seller_id,
            namespace=namespace,
            mode=mode,
            disposition=disposition,
            force=force,
            request_id=str(uuid.uuid4()),
            timeout_s=timeout_s,
            on_sent=lambda sent: progress.update(sending, completed=sent),
        )
        progress.update(sending, visible=False)
        name = client.wait_for_task(stored, timeout_s=max(1.0, ends_at - time.monotonic()))
        loading = progress.add_task("loading", total=None)
        for task in _watch(client, name, ends_at):
            total = task.expected_total or None
            rate = f"{task.statistics.offers_per_second:,.0f} offers/s" if task.statistics.total else ""
            progress.update(
                loading, total=total, completed=task.statistics.total, description=f"loading {rate}".rstrip()
            )
            if task.status != task_pb2.TASK_STATUS_IN_PROGRESS:
                return task
    number = name.rpartition("/")[2]
    raise CommandError(
        ExitCode.TIME_OUT,
        "TASK_NOT_ENDED",
        f"Task {number} has not ended within {timeout_s:g} s; it goes on. "
        f"Look again: classifeed task show {seller_id} {namespace} {number}",
        {"task": name},
    )


def _watch(client: Client, name: str, ends_at: float) -> Iterator[task_pb2.Task]:
    """Yields the task at each change until the time is over; a service that restarts is waited for."""
    while (left_s := ends_at - time.monotonic()) > 0:
        try:
            yield from client.watch_task(name, timeout_s=left_s)
        except Unreachable:
            time.sleep(_RETRY_S)
        except DeadlineExceeded:
            return


def _progress(out: Output) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        console=out.errors,
        transient=True,
        disable=not out.errors.is_terminal,
    )
