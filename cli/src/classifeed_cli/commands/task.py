"""`classifeed task …`: what became of loads."""

from __future__ import annotations

from typing import Annotated

import typer

from classifeed.feeds.v1 import task_pb2, task_service_pb2
from classifeed_cli.messages import document_of
from classifeed_cli.options import AddressOption, DataOption, NamespaceArgument, SellerArgument
from classifeed_cli.output import JsonOption, Output
from classifeed_cli.paging import collect
from classifeed_cli.platform.installation import connect
from classifeed_cli.task_list import show_tasks
from classifeed_cli.task_view import show_errors, show_task, show_unlisted
from classifeed_client import feed_name, task_name

_app = typer.Typer(help="What became of loads.", no_args_is_help=True)
_Task = Annotated[int, typer.Argument(min=1, help="Number of the task.")]


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
    task: _Task,
    data: DataOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one load."""
    out = Output(as_json)
    name = task_name(seller, namespace, task)
    with connect(data, address) as client:
        found = client.get_task(name)
    show_task(out, found)
    out.document(document_of(found))


@_app.command()
def errors(
    seller: SellerArgument,
    namespace: NamespaceArgument,
    task: _Task,
    limit: Annotated[int, typer.Option(min=1, help="Issues to print.")] = 100,
    code: Annotated[str, typer.Option(help="Only issues with this code.")] = "",
    external_id: Annotated[str, typer.Option("--offer", help="Only issues of this offer.")] = "",
    data: DataOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what is wrong with the offers of a load: where, what, and what to do."""
    out = Output(as_json)
    name = task_name(seller, namespace, task)
    with connect(data, address) as client:
        load = client.get_task(name)

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
