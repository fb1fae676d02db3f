"""The steps of the demo, each of which shows one thing that a seller or a buyer can do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from classifeed.feeds.v1 import feed_pb2, load_pb2, task_pb2, task_service_pb2
from classifeed_cli.commands.demo.price_lists import sample_file, sample_titles, write_big_list
from classifeed_cli.commands.demo.site import serve_price_list
from classifeed_cli.commands.feed.loading import fetch_feed, load_file
from classifeed_cli.commands.search import find_offers, hit_document, show_hits
from classifeed_cli.exit_codes import CommandError, refused
from classifeed_cli.explanation_view import show_explanation
from classifeed_cli.feed_view import show_feed
from classifeed_cli.fetch_view import show_fetch
from classifeed_cli.messages import document_of
from classifeed_cli.output import Output
from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.settle import wait_settled
from classifeed_cli.task_view import show_errors, show_task
from classifeed_client import Client, feed_name, offer_name, task_name

SELLER: Final = "home-and-garden"
NAMESPACE: Final = "default"
_QUERIES: Final = ("садовые скамейки", "угловой диван", "camping chair")
_BIG_COUNT: Final = 20_000
_ERRORS_SHOWN: Final = 3
_SETTLE_TIMEOUT_S: Final = 60
_FETCH_TIMEOUT_S: Final = 60
_POLL_S: Final = 0.2


@dataclass
class Story:
    """What the steps work with, and what earlier ones leave for later ones."""

    client: Client
    out: Output
    installation: Installation
    folder: Path
    found_id: str = ""
    rejected_id: str = ""
    errors: list[load_pb2.OfferError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its headline, and what it does; it returns its part of the JSON document."""

    title: str
    play: Callable[[Story], dict[str, Any]]


def upload_sample(story: Story) -> dict[str, Any]:
    """Loads the sample."""
    with sample_file() as sample:
        task = _load(story, sample, NAMESPACE)
    name = task_name(SELLER, NAMESPACE, task.task_id)
    request = task_service_pb2.ListOfferErrorsRequest(parent=name, level="ISSUE_LEVEL_ERROR", page_size=_ERRORS_SHOWN)
    story.errors = list(story.client.list_offer_errors(request).errors)
    return {"first": document_of(task)}


def tell_errors(story: Story) -> dict[str, Any]:
    """Shows what is wrong with offers, in the words of their owner."""
    show_errors(story.out, story.errors, sample_titles())
    story.rejected_id = next(
        (error.external_id for error in story.errors if error.kind != load_pb2.ISSUE_KIND_DUPLICATE), ""
    )
    return {"errors": [document_of(error) for error in story.errors]}


def search_offers(story: Story) -> dict[str, Any]:
    """Finds offers, once all are searchable."""
    asyncio.run(wait_settled(story.installation.http, _SETTLE_TIMEOUT_S))
    hits = 0
    for query in _QUERIES:
        story.out.say(f"\n> {query}")
        found = find_offers(story.client, query, limit=3)
        show_hits(story.out, found)
        hits += len(found.hits)
        if found.hits and not story.found_id:
            story.found_id = str(hit_document(found.hits[0])["external_id"])
    if not hits:
        raise _failed("The loaded offers were not found by any search.")
    return {"hits": hits}


def explain_two(story: Story) -> dict[str, Any]:
    """Explains an offer that is found, and one that was refused."""
    explained = {}
    for key, external_id in (("found", story.found_id), ("rejected", story.rejected_id)):
        story.out.say(f"\n> classifeed offer explain {SELLER} {NAMESPACE} {external_id}")
        explanation = story.client.explain_offer(offer_name(SELLER, NAMESPACE, external_id))
        show_explanation(story.out, explanation)
        explained[key] = document_of(explanation)
    return explained


def upload_again(story: Story) -> dict[str, Any]:
    """Loads the sample once more."""
    with sample_file() as sample:
        return {"second": document_of(_load(story, sample, NAMESPACE))}


def upload_big_list(story: Story) -> dict[str, Any]:
    """Loads a price list that takes a while."""
    return {"big": document_of(_load(story, write_big_list(story.folder / "warehouse.yml", _BIG_COUNT), "warehouse"))}


def fetch_by_link(story: Story) -> dict[str, Any]:
    """Has a price list fetched from a site: first by itself, then on request, when nothing has changed."""
    client, out = story.client, story.out
    with sample_file() as sample, serve_price_list(sample.read_bytes()) as link:
        settings = feed_pb2.FeedSettings(mode="LOAD_MODE_REPLACE", disposition="DISPOSITION_DELETE")
        settings.source.url = link
        settings.schedule.interval.seconds = 3600
        show_feed(out, client.create_feed(SELLER, "by-link", settings))

        out.say("\nIts first fetch comes by itself.")
        first, task = fetch_feed(client, out, _first_fetch(client, feed_name(SELLER, "by-link")), _FETCH_TIMEOUT_S)
        show_fetch(out, first)
        if task is None:
            raise _failed(f"The first fetch loaded nothing: {first.message}")
        _check_loaded(out, task)

        out.say("\nThe second one is asked for, and the site says that the file is as before.")
        asked = client.run_feed(feed_name(SELLER, "by-link"))
        second, _ = fetch_feed(client, out, asked, _FETCH_TIMEOUT_S)
        show_fetch(out, second)
        if second.outcome != feed_pb2.FETCH_OUTCOME_NOT_MODIFIED:
            raise _failed("The second fetch did not find the file as before.")
        # Nobody serves the file after this; a feed that is left would only fail.
        client.pause_feed(feed_name(SELLER, "by-link"))
    return {"fetches": [document_of(first), document_of(second)]}


STEPS: Final = (
    Step(f"A seller uploads a price list of {len(sample_titles())} offers, three of them wrong", upload_sample),
    Step("What is wrong, offer by offer: which, where, and what to change", tell_errors),
    Step("A buyer searches, in any form of a word", search_offers),
    Step("Where is my offer? One that is found, and one that was refused", explain_two),
    Step("The same file again: nothing changed, so nothing is written", upload_again),
    Step(f"A big price list of {_BIG_COUNT:,} offers", upload_big_list),
    Step("By link: the price list stands on the shop's site, and is fetched each hour", fetch_by_link),
)


def _load(story: Story, file: Path, namespace: str) -> task_pb2.Task:
    task = load_file(story.client, story.out, file, seller_id=SELLER, namespace=namespace)
    _check_loaded(story.out, task)
    return task


def _check_loaded(out: Output, task: task_pb2.Task) -> None:
    show_task(out, task)
    if task.status != task_pb2.TASK_STATUS_SUCCEEDED:
        raise _failed("The price list was not loaded; see the fault above.")


def _first_fetch(client: Client, name: str) -> feed_pb2.Fetch:
    ends_at = time.monotonic() + _FETCH_TIMEOUT_S
    while time.monotonic() < ends_at:
        feed = client.get_feed(name)
        if feed.state.HasField("last_fetch"):
            return feed.state.last_fetch
        time.sleep(_POLL_S)
    raise _failed(f"The feed was not fetched within {_FETCH_TIMEOUT_S} s.")


def _failed(message: str) -> CommandError:
    return refused("DEMO_FAILED", message)
