"""The step about moderation: a text is refused, corrected, and found."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from classifeed.offers.v1 import offer_pb2
from classifeed_cli.commands.demo.price_lists import ENGLISH, NEW_BENCH, write_with_new_bench
from classifeed_cli.commands.demo.story import SELLER, SETTLE_TIMEOUT_S, Story, check_loaded, failed
from classifeed_cli.commands.feed.loading import load_file
from classifeed_cli.commands.search import find_offers, hit_document, show_hits
from classifeed_cli.messages import document_of
from classifeed_cli.platform.settle import wait_settled
from classifeed_cli.views.explanation import show_explanation
from classifeed_cli.views.task import show_task
from classifeed_client import offer_name

_NAMESPACE: Final = "default"
_REFUSED: Final = "Two seats, folds flat. Order by phone: +44 20 7946 0143."
_CORRECTED: Final = "Two seats, folds flat."
_QUERY: Final = "beech benches"


def refuse_text(story: Story) -> dict[str, Any]:
    """Load an offer whose text is forbidden, show why it is refused, and correct it.

    Raises:
        CommandError: The text is not refused, or the offer is not found after the correction.
    """
    out = story.out
    name = offer_name(SELLER, _NAMESPACE, NEW_BENCH)
    _load_judged(story, _REFUSED)
    out.say(f"\n> classifeed offer explain {SELLER} {_NAMESPACE} {NEW_BENCH}")
    explanation = story.client.explain_offer(name)
    show_explanation(out, explanation)
    if story.client.get_offer(name).status != offer_pb2.OFFER_STATUS_BANNED:
        raise failed(f"The text of {NEW_BENCH} was not refused.")

    out.say("\nWithout the number:")
    _load_judged(story, _CORRECTED)
    out.say(f"\n> {_QUERY}")
    found = find_offers(story.client, _QUERY, seller=SELLER, conditions=[f"namespace:{_NAMESPACE}"], limit=3)
    show_hits(out, found)
    if NEW_BENCH not in {hit_document(hit)["external_id"] for hit in found.hits}:
        raise failed(f"{NEW_BENCH} is not found, though its text was corrected.")
    return {"refused": document_of(explanation), "corrected": document_of(story.client.get_offer(name))}


def _load_judged(story: Story, text: str) -> None:
    """Load the bench with a text, and show the load after the verdict, when its counts are final."""
    file = write_with_new_bench(story.folder / ENGLISH, text, story.pictures)
    task = load_file(story.client, story.out, file, seller_id=SELLER, namespace=_NAMESPACE)
    check_loaded(task)
    asyncio.run(wait_settled(story.installation.http, SETTLE_TIMEOUT_S))
    story.out.say("")
    show_task(story.out, story.client.get_task(task.name))
