"""`classifeed task list|show|errors`: outcomes of loads."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from classifeed.feeds.v1 import task_pb2, task_service_pb2
from classifeed_cli.commands.task.argument import LATEST, TaskArgument, find_task
from classifeed_cli.issues.listing import export_issues, list_groups, list_issues
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceArgument, SellerArgument
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.task import show_task, unlisted_of
from classifeed_cli.views.task_list import TASKS
from classifeed_client import feed_name


class Level(Enum):
    """A level of issues."""

    ERROR = "ERROR"
    WARNING = "WARNING"


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("list")(list_tasks)
    for command in (show, errors):
        group.command()(command)


@with_session
def list_tasks(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Tasks to print, the newest first.")] = 20,
) -> None:
    """List the loads of a namespace, the newest first."""
    out = session.out
    parent = feed_name(seller, namespace)
    with session.client() as client:
        page = client.list_tasks(parent, page_size=limit)
    if page.tasks:
        out.rows(TASKS, page.tasks)
    else:
        out.say(f"{seller} has no loads in {namespace}.")
    out.document(document_of(page))


@with_session
def show(session: Session, seller: SellerArgument, namespace: NamespaceArgument, task: TaskArgument = LATEST) -> None:
    """Print one load."""
    with session.client() as client:
        session.show(show_task, find_task(client, seller, namespace, task))


@with_session
def errors(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: TaskArgument = LATEST,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Groups to print; issues with --flat or --json.", show_default="20, 100")
    ] = None,
    code: Annotated[str, typer.Option(help="Only issues with this code.")] = "",
    external_id: Annotated[str, typer.Option("--offer", help="Only issues of this offer.")] = "",
    field: Annotated[str, typer.Option(help="Only issues with this field, as the file calls it.")] = "",
    level: Annotated[Level | None, typer.Option(case_sensitive=False, help="Only errors, or only warnings.")] = None,
    flat: Annotated[
        bool, typer.Option("--flat", help="Print each issue separately, in the order of the file.")
    ] = False,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write all issues to this CSV file.")] = None,
    xlsx_file: Annotated[Path | None, typer.Option("--xlsx", help="Write all issues to this Excel file.")] = None,
) -> None:
    """Print the errors in the offers of a load, with their places and fixes; equal issues are grouped."""
    out = session.out
    with session.client() as client:
        load = find_task(client, seller, namespace, task)
        request = task_service_pb2.ListOfferErrorsRequest(
            parent=load.name, code=code, external_id=external_id, field=field
        )
        if level is not None:
            request.MergeFrom(task_service_pb2.ListOfferErrorsRequest(level=f"ISSUE_LEVEL_{level.value}"))
        if csv_file is not None or xlsx_file is not None:
            export_issues(out, client, load, request, csv_file, xlsx_file)
            return
        if flat or out.as_json:
            count = list_issues(out, client, load, request, limit or 100)
        else:
            count = list_groups(out, client, load, request, limit or 20)
    if not count and not unlisted_of(load.statistics, code=code):
        out.say(_why_none(load, code=code, external_id=external_id, is_filtered=bool(field or level)))


def _why_none(load: task_pb2.Task, *, code: str, external_id: str, is_filtered: bool) -> str:
    if load.error_code:
        return f"The load failed before any offer was read: {load.error_code}. {load.error_message}"
    if is_filtered:
        return "No issue of this load has this level, field, code and offer. `classifeed task show` counts all of them."
    if external_id and not code:
        return f"The offer {external_id} has no issue in this load."
    if code:
        of_offer = f" of the offer {external_id}" if external_id else ""
        codes = sorted({issue.code for issue in load.statistics.issues})
        return f"No such issue{of_offer} in this load; there are: {', '.join(codes) or 'none'}."
    return "Nothing is wrong with the offers of this load."
