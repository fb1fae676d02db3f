"""`classifeed task …`: what became of loads."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from classifeed.feeds.v1 import task_pb2, task_service_pb2
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.options import AddressOption, DataOption, NamespaceArgument, SellerArgument
from classifeed_cli.output import JsonOption, Output
from classifeed_cli.paging import collect
from classifeed_cli.platform.installation import connect
from classifeed_cli.task_list import show_tasks
from classifeed_cli.task_view import show_errors, show_task, show_unlisted
from classifeed_client import Client, feed_name, task_name

_app = typer.Typer(help="What became of loads.", no_args_is_help=True)
_LATEST: Final = "latest"
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")


def _check_task(given: str) -> str:
    if given != _LATEST and not _NUMBER.fullmatch(given):
        raise typer.BadParameter(
            f"{given!r} is neither the number of a task nor `{_LATEST}`. `classifeed task list` prints the numbers."
        )
    return given


_Task = Annotated[str, typer.Argument(metavar="TASK", callback=_check_task, help="Number of the task, or `latest`.")]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(_app, name="task")


@_app.command("list")
def list_tasks(
    seller: SellerArgument,
    namespace: NamespaceArgument,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Tasks to print, the newest first.")] = 20,
    data: DataOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the loads of a namespace, the newest first."""
    out = Output(as_json)
    parent = feed_name(seller, namespace)
    with connect(data, address) as client:
        page = client.list_tasks(parent, page_size=limit)
    if page.tasks:
        show_tasks(out, page.tasks)
    else:
        out.say(f"{seller} has no loads in {namespace}.")
    out.document(document_of(page))


@_app.command()
def show(
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: _Task = _LATEST,
    data: DataOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one load."""
    out = Output(as_json)
    with connect(data, address) as client:
        found = _get(client, seller, namespace, task)
    show_task(out, found)
    out.document(document_of(found))


@_app.command()
def errors(
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: _Task = _LATEST,
    limit: Annotated[int, typer.Option(min=1, help="Issues to print.")] = 100,
    code: Annotated[str, typer.Option(help="Only issues with this code.")] = "",
    external_id: Annotated[str, typer.Option("--offer", help="Only issues of this offer.")] = "",
    data: DataOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what is wrong with the offers of a load: where, what, and what to do."""
    out = Output(as_json)
    with connect(data, address) as client:
        load = _get(client, seller, namespace, task)
        name = load.name

        def ask(size: int, token: str) -> task_service_pb2.ListOfferErrorsResponse:
            return client.list_offer_errors(
                task_service_pb2.ListOfferErrorsRequest(
                    parent=name, code=code, external_id=external_id, page_size=size, page_token=token
                )
            )

        found = collect(ask, "errors", limit)
    show_errors(out, list(found.errors))
    if found.next_page_token:
        out.say(f"… more than {limit}; ask for more with --limit")
    elif not found.errors and not found.unlisted:
        out.say(_why_none(load, code=code, external_id=external_id))
    show_unlisted(out, {each.code: each.count for each in found.unlisted})
    if external_id and found.unlisted:
        out.say(f"Issues of {external_id} may be among those that are not listed.")
    out.document(document_of(found))


def _get(client: Client, seller: str, namespace: str, task: str) -> task_pb2.Task:
    if task != _LATEST:
        return client.get_task(task_name(seller, namespace, int(task)))
    newest = client.list_tasks(feed_name(seller, namespace), page_size=1).tasks
    if not newest:
        raise CommandError(ExitCode.REFUSED, "TASK_NOT_FOUND", f"{seller} has no loads in {namespace}.")
    return client.get_task(newest[0].name)


def _why_none(load: task_pb2.Task, *, code: str, external_id: str) -> str:
    if load.error_code:
        return f"The load failed before any offer was read: {load.error_code}. {load.error_message}"
    if external_id and not code:
        return f"The offer {external_id} has no issue in this load."
    if code:
        of_offer = f" of the offer {external_id}" if external_id else ""
        codes = sorted({issue.code for issue in load.statistics.issues})
        return f"No such issue{of_offer} in this load; there are: {', '.join(codes) or 'none'}."
    return "Nothing is wrong with the offers of this load."
