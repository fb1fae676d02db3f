"""`classifeed demo`: the main job, from a file to a search, on a suite of its own."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from classifeed.feeds.v1 import load_pb2, task_pb2, task_service_pb2
from classifeed_cli.commands.feed.loading import load_file
from classifeed_cli.commands.search import find_offers, show_hits
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.output import JsonOption, Output
from classifeed_cli.platform.daemon import start_detached
from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.layout import Layout
from classifeed_cli.platform.settle import wait_settled
from classifeed_cli.platform.shutdown import stop_installation
from classifeed_cli.task_view import show_errors, show_task
from classifeed_client import Client

_SELLER = "home-and-garden"
_NAMESPACE = "default"
_QUERIES = ("садовые скамейки", "угловой диван", "camping chair")
_STOP_TIMEOUT_S = 60


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(demo)


def demo(
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that starting may take.")] = 150,
    as_json: JsonOption = False,
) -> int:
    """Start the whole suite, load a sample feed, show what became of it, and stop; nothing is left behind."""
    out = Output(as_json)
    started = time.monotonic()
    with _suite(out, timeout) as installation, installation.client() as client:
        out.say(f"\n1. A seller uploads a price list with {_count_words()}")
        with as_file(files("classifeed_cli") / "samples" / "home_and_garden.yml") as sample:
            task = load_file(client, out, Path(sample), seller_id=_SELLER, namespace=_NAMESPACE)
        show_task(out, task)
        if task.status != task_pb2.TASK_STATUS_SUCCEEDED:
            raise CommandError(ExitCode.REFUSED, "DEMO_FAILED", "The sample feed was not loaded; see the fault above.")

        out.say("\n2. What is wrong, offer by offer")
        errors = _first_errors(client, task)
        show_errors(out, errors)

        out.say("\n3. A buyer searches, in any form of a word")
        asyncio.run(wait_settled(installation.http, 60))
        hits = 0
        for query in _QUERIES:
            out.say(f"\n> {query}")
            found = find_offers(client, query, limit=3)
            show_hits(out, found)
            hits += len(found.hits)
        if not hits:
            raise CommandError(ExitCode.REFUSED, "DEMO_FAILED", "The loaded offers were not found by any search.")

        out.say("\n4. The same file again: nothing changed, so nothing is written")
        with as_file(files("classifeed_cli") / "samples" / "home_and_garden.yml") as sample:
            again = load_file(client, out, Path(sample), seller_id=_SELLER, namespace=_NAMESPACE)
        show_task(out, again)
        out.document({"first": document_of(task), "second": document_of(again), "hits": hits})
    out.say(f"\nDone in {time.monotonic() - started:.0f} s, and nothing is left running.")
    out.say("Go on with a suite of your own: make up, then classifeed feed upload FILE --seller NAME")
    return ExitCode.DONE


def _count_words() -> str:
    text = (files("classifeed_cli") / "samples" / "home_and_garden.yml").read_text(encoding="utf-8")
    return f"{text.count('<offer ')} offers, three of them wrong."


def _first_errors(client: Client, task: task_pb2.Task) -> list[load_pb2.OfferError]:
    name = f"sellers/{task.seller_id}/feeds/{task.namespace}/tasks/{task.task_id}"
    request = task_service_pb2.ListOfferErrorsRequest(parent=name, level="ISSUE_LEVEL_ERROR", page_size=3)
    return list(client.list_offer_errors(request).errors)


@contextmanager
def _suite(out: Output, timeout_s: float) -> Iterator[Installation]:
    folder = Path(tempfile.mkdtemp(prefix="classifeed-demo-"))
    layout = Layout(folder)
    try:
        layout.prepare()
        out.progress("Starting PostgreSQL, Kafka, S3 and the services …")
        start_detached(layout, [], timeout_s)
        out.say("The suite is up: PostgreSQL, Apache Kafka, an S3 server, and six services.")
        yield Installation.find(folder)
    finally:
        stop_installation(layout, _STOP_TIMEOUT_S)
        shutil.rmtree(folder, ignore_errors=True)
