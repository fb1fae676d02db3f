"""The steps of the demo. Each step shows one action of a seller or a buyer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from classifeed.feeds.v1 import feed_pb2, load_pb2, task_service_pb2
from classifeed_cli.commands.demo.kill import BIG_COUNT, kill_amid_load
from classifeed_cli.commands.demo.pictures import show_pictures
from classifeed_cli.commands.demo.price_lists import ENGLISH, RUSSIAN, read_sample, write_mended, write_sample
from classifeed_cli.commands.demo.refused_text import refuse_text
from classifeed_cli.commands.demo.site import serve_price_list
from classifeed_cli.commands.demo.story import SELLER, SETTLE_TIMEOUT_S, Step, Story, check_loaded, failed, load
from classifeed_cli.commands.feed.loading import fetch_feed
from classifeed_cli.commands.search import find_offers, hit_document, show_hits
from classifeed_cli.issues.groups import group_issues
from classifeed_cli.issues.view import show_groups
from classifeed_cli.messages import document_of
from classifeed_cli.platform.settle import wait_settled
from classifeed_cli.views.explanation import show_explanation
from classifeed_cli.views.feed import show_feed
from classifeed_cli.views.fetch import show_fetch
from classifeed_cli.views.load_status import standing_of
from classifeed_client import Client, feed_name, offer_name, task_name

_NAMESPACE: Final = "default"
_BY_LINK: Final = "by-link"
_QUERIES: Final = ("garden benches", "corner sofas")
_RUSSIAN_QUERY: Final = "садовые скамейки"
_ERRORS_SHOWN: Final = 3
_FETCH_TIMEOUT_S: Final = 60
_POLL_S: Final = 0.2


def upload_sample(story: Story) -> dict[str, Any]:
    """Load the sample, and show the errors in its offers."""
    task = load(story, write_sample(story.folder / ENGLISH, story.pictures), _NAMESPACE)
    name = task_name(SELLER, _NAMESPACE, task.task_id)
    request = task_service_pb2.ListOfferErrorsRequest(parent=name, level="ISSUE_LEVEL_ERROR", page_size=_ERRORS_SHOWN)
    errors = list(story.client.list_offer_errors(request).errors)
    story.out.say("")
    show_groups(story.out, group_issues(errors))
    # Not a duplicate: the first offer with a duplicate id is loaded.
    story.rejected_id = next((each.external_id for each in errors if each.kind != load_pb2.ISSUE_KIND_DUPLICATE), "")
    return {"first": document_of(task), "errors": [document_of(error) for error in errors]}


def search_offers(story: Story) -> dict[str, Any]:
    """Search offers, after all are searchable."""
    story.found_id, hits = _search(story, _NAMESPACE, _QUERIES)
    return {"hits": hits}


def explain_two(story: Story) -> dict[str, Any]:
    """Explain an offer that is found, and an offer that was rejected."""
    explained = {}
    for key, external_id in (("found", story.found_id), ("rejected", story.rejected_id)):
        story.out.say(f"\n> classifeed offer explain {SELLER} {_NAMESPACE} {external_id}")
        explanation = story.client.explain_offer(offer_name(SELLER, _NAMESPACE, external_id))
        show_explanation(story.out, explanation)
        explained[key] = document_of(explanation)
    return explained


def upload_mended(story: Story) -> dict[str, Any]:
    """Load the corrected sample."""
    return {"second": document_of(load(story, write_mended(story.folder / ENGLISH, story.pictures), _NAMESPACE))}


def fetch_by_link(story: Story) -> dict[str, Any]:
    """Show the automatic first fetch of a price list from a site, and a requested fetch of the unchanged file."""
    client, out = story.client, story.out
    name = feed_name(SELLER, _BY_LINK)
    with serve_price_list(read_sample(RUSSIAN, story.pictures).encode()) as link:
        settings = feed_pb2.FeedSettings(mode="LOAD_MODE_REPLACE", disposition="DISPOSITION_DELETE")
        settings.source.url = link
        settings.schedule.interval.seconds = 3600
        out.say("")
        show_feed(out, client.create_feed(SELLER, _BY_LINK, settings))

        out.say("\nIts first fetch starts automatically.")
        first, task = fetch_feed(client, out, _first_fetch(client, name), _FETCH_TIMEOUT_S)
        show_fetch(out, first)
        if task is None:
            raise failed(f"The first fetch loaded nothing: {first.message}")
        out.say(f"  {standing_of(first.load)}", hang=2)
        check_loaded(task)

        out.say("\nThe second fetch is requested, and the site reports an unchanged file.")
        second, _ = fetch_feed(client, out, client.run_feed(name), _FETCH_TIMEOUT_S)
        show_fetch(out, second)
        if second.outcome != feed_pb2.FETCH_OUTCOME_NOT_MODIFIED:
            raise failed("The second fetch did not find the file unchanged.")
        # The site stops after this step; further fetches would fail.
        client.pause_feed(name)
    _search(story, _BY_LINK, [_RUSSIAN_QUERY])
    return {"fetches": [document_of(first), document_of(second)]}


STEPS: Final = (
    Step(
        "A shop uploads a price list of 24 offers, three of them wrong",
        "api keeps the file in S3 · processor checks it · Kafka · offers stores it",
        upload_sample,
    ),
    Step(
        "A buyer searches, in any form of a word",
        "offers · receiver registers · indexer · Kafka · searcher",
        search_offers,
    ),
    Step(
        "Where is my offer? One that is found, and one that was refused",
        "api queries processor, offers and searcher for what each of them knows",
        explain_two,
    ),
    Step(
        "The pictures: one stored in several sizes, and one that is not at its link",
        "offers · Kafka · pictures downloads, checks, makes sizes · S3 · HTTP",
        show_pictures,
    ),
    Step(
        "The shop corrects the file: only what differs is written",
        "processor sends all offers · offers writes changes, removes missing ones",
        upload_mended,
    ),
    Step(
        "A text that the rules forbid: refused, corrected, found",
        "offers · Kafka · moderation gets verdicts from cleanweb, applies its rules",
        refuse_text,
    ),
    Step(
        "By link: a price list in Russian on the shop's site",
        "loader fetches it each hour · YML is Yandex Market Language, an XML format",
        fetch_by_link,
    ),
    Step(
        f"kill -9 in the middle of {BIG_COUNT:,} offers",
        "Kafka keeps what is sent · offers commits each batch with its offset",
        kill_amid_load,
    ),
)


def _search(story: Story, namespace: str, queries: Sequence[str]) -> tuple[str, int]:
    """Return the id of the first hit, and the number of hits of all queries."""
    asyncio.run(wait_settled(story.installation.http, SETTLE_TIMEOUT_S))
    ids: list[str] = []
    for query in queries:
        story.out.say(f"\n> {query}")
        found = find_offers(story.client, query, seller=SELLER, conditions=[f"namespace:{namespace}"], limit=3)
        show_hits(story.out, found)
        ids += [str(hit_document(hit)["external_id"]) for hit in found.hits]
    if not ids:
        raise failed("The loaded offers were not found by any search.")
    return ids[0], len(ids)


def _first_fetch(client: Client, name: str) -> feed_pb2.Fetch:
    ends_at = time.monotonic() + _FETCH_TIMEOUT_S
    while time.monotonic() < ends_at:
        feed = client.get_feed(name)
        if feed.state.HasField("last_fetch"):
            return feed.state.last_fetch
        time.sleep(_POLL_S)
    raise failed(f"The feed was not fetched within {_FETCH_TIMEOUT_S} s.")
