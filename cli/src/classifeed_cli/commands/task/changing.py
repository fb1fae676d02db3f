"""`classifeed task cancel|rerun`."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed_cli.commands.feed.loading import follow_load
from classifeed_cli.commands.task.argument import TaskArgument, find_task
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceArgument, SellerArgument
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.amounts import time_words
from classifeed_cli.views.task import show_task, source_of


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (cancel, rerun):
        group.command()(command)


@with_session
def cancel(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: TaskArgument,
    yes: YesOption = False,
) -> None:
    """Cancel a load that waits or runs: what it has changed stays, and nothing is removed."""
    out = session.out
    with session.client() as client:
        found = find_task(client, seller, namespace, task)
        if found.status == task_pb2.TASK_STATUS_IN_PROGRESS:
            confirm(out, _question_of_cancel(found), yes=yes)
        canceled = client.cancel_task(found.name)
    show_task(out, canceled)
    if canceled.kind != task_pb2.TASK_KIND_DELETE:
        out.say(f"To load it after all:\n  classifeed task rerun {seller} {namespace} {canceled.task_id}")
    out.document(document_of(canceled))


@with_session
def rerun(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: TaskArgument,
    allow_removals: Annotated[
        bool, typer.Option("--allow-removals", help="Load it even if it removes more offers than the guard allows.")
    ] = False,
    allow_changes: Annotated[
        bool,
        typer.Option(
            "--allow-changes", help="Load it without a decision, even if prices move far or no offer is available."
        ),
    ] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait for the load to complete.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time to wait for completion, in seconds.")] = 600,
    yes: YesOption = False,
) -> int:
    """Load the stored file of an earlier load again, wait until it is loaded, and print the outcome."""
    out = session.out
    with session.client() as client:
        earlier = find_task(client, seller, namespace, task)
        confirm(out, _question_of_rerun(earlier), yes=yes)
        loaded = client.rerun_task(
            earlier.name,
            request_id=str(uuid.uuid4()),
            allow_removals=allow_removals,
            allow_changes=allow_changes,
        )
        if not no_wait:
            loaded = follow_load(client, out, loaded.name, timeout)
    session.show(show_task, loaded)
    if no_wait:
        look = f"classifeed task show {seller} {namespace} {loaded.task_id}"
        out.say(f"Follow it with:\n  {look}")
    return ExitCode.DONE if no_wait or loaded.status == task_pb2.TASK_STATUS_SUCCEEDED else ExitCode.REFUSED


def _question_of_cancel(task: task_pb2.Task) -> str:
    whose = f"{task.seller_id}/{task.namespace}"
    if task.kind == task_pb2.TASK_KIND_DELETE:
        return f"Cancel the removal {task.task_id} of {whose}? Its offers stay."
    if not task.run:
        return f"Cancel load {task.task_id} of {whose} ({source_of(task)}) before it begins? No offer changes."
    total = task.expected_total
    done = f"after {task.statistics.total:,} of {total:,} offers" if total else "during the check of its file"
    return (
        f"Cancel load {task.task_id} of {whose} ({source_of(task)}) {done}? What it has changed stays, and nothing "
        "is removed."
    )


def _question_of_rerun(task: task_pb2.Task) -> str:
    whose = f"{task.seller_id}/{task.namespace}"
    file = f"{source_of(task)}, of {time_words(task.create_time)}"
    if task.mode == load_pb2.LOAD_MODE_PATCH:
        return f"Load the file of load {task.task_id} ({file}) into {whose} again? It changes the offers that it names."
    lost = "kept by hand" if task.disposition == load_pb2.DISPOSITION_MAKE_MANUAL else "removed"
    return (
        f"Load the file of load {task.task_id} ({file}) into {whose} again? Its offers get the state of that file, and "
        f"those missing from it are {lost}."
    )
