"""`classifeed feed run|fetches`: fetches of a feed."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from classifeed.feeds.v1 import feed_source_service_pb2, task_pb2
from classifeed_cli.commands.feed.completion import FailOnRejectedOption, end_fetch
from classifeed_cli.commands.feed.loading import fetch_feed
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceOption, SellerOption
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.fetch import FETCHES, show_fetch
from classifeed_client import feed_name


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(run)
    group.command()(fetches)


@with_session
def run(
    session: Session,
    seller: SellerOption,
    namespace: NamespaceOption = "default",
    force: Annotated[bool, typer.Option("--force", help="Load the file even if nothing changed.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the fetch and for its load.")] = True,
    fail_on_rejected: FailOnRejectedOption = None,
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time to wait for completion, in seconds.")] = 600,
) -> int:
    """Fetch a feed now, paused or not, and print the outcome."""
    out = session.out
    name = feed_name(seller, namespace)
    task: task_pb2.Task | None = None
    with session.client() as client:
        fetch = client.run_feed(name, force=force, request_id=str(uuid.uuid4()))
        if wait:
            fetch, task = fetch_feed(client, out, fetch, timeout)
    if wait:
        exit_code = end_fetch(out, fetch, task, fail_on_rejected)
    else:
        show_fetch(out, fetch)
        exit_code = ExitCode.DONE
    out.document({"fetch": document_of(fetch), "task": document_of(task) if task else None})
    return exit_code


@with_session
def fetches(
    session: Session,
    seller: SellerOption,
    namespace: NamespaceOption = "default",
    limit: Annotated[int, typer.Option(min=1, help="Fetches to print, the newest first.")] = 20,
) -> None:
    """List the fetches of a feed, the newest first: time, outcome, and the fix for a failed one."""
    out = session.out
    name = feed_name(seller, namespace)
    with session.client() as client:
        found = collect(
            lambda page: client.list_fetches(name, page_size=page.page_size, page_token=page.page_token),
            feed_source_service_pb2.ListFetchesRequest(),
            "fetches",
            limit,
        )
    if found.fetches:
        out.rows(FETCHES, found.fetches)
    else:
        out.say(f"{seller}/{namespace} was never fetched.")
    out.document(document_of(found))
