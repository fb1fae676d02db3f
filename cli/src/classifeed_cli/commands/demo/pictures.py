"""The step about pictures: a stored picture with its address, and a picture with a broken link."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final

from classifeed.feeds.v1 import task_service_pb2
from classifeed.offers.v1 import offer_pb2
from classifeed_cli.commands.demo.site import serve_files
from classifeed_cli.commands.demo.story import SELLER, Story, failed
from classifeed_cli.commands.search import find_offers, hit_document
from classifeed_cli.issues.groups import group_issues
from classifeed_cli.issues.view import show_groups
from classifeed_cli.messages import document_of
from classifeed_cli.views.amounts import size_words
from classifeed_cli.views.offer import show_offer
from classifeed_client import offer_name, task_name

_NAMESPACE: Final = "default"
_FOLDER: Final = files("classifeed_cli") / "samples" / "pictures"
_THUMBNAIL: Final = "card"
_OPENS_S: Final = 30
# Offers of each drawing. The wheelbarrow of the English list has none, so its link is broken.
_DRAWN: Final = {
    "bench": "b-101 b-102 b-110 g-101 g-102",
    "chair": "b-103 b-104 b-105 b-106 s-003 s-004 s-005 s-009 s-010 s-204 s-205 s-207 g-103 e-202",
    "lantern": "l-401 e-201 e-203",
    "shelf": "s-011 s-012 s-013 s-014 s-015 s-208 s-209",
    "sofa": "s-001 s-002 s-201 s-202 s-203",
    "table": "s-006 s-007 s-008 s-206 g-104",
    "tool": "b-107 t-301 t-302 t-303 t-304 t-305 g-105 g-106 g-107 g-108 g-109 g-110",
}


@contextmanager
def serve_pictures() -> Iterator[str]:
    """Serve the pictures of both price lists, and provide the base URL, such as http://127.0.0.1:1."""
    drawings = {name: (_FOLDER / f"{name}.jpg").read_bytes() for name in _DRAWN}
    with serve_files({f"/{of}.jpg": drawings[name] for name, ids in _DRAWN.items() for of in ids.split()}) as base:
        yield base


def show_pictures(story: Story) -> dict[str, Any]:
    """Show a stored picture, open its thumbnail at the address from the search, and show why another picture failed.

    Raises:
        CommandError: The picture is not stored or does not open, or no picture has failed.
    """
    out, external_id = story.out, story.found_id
    out.say(f"\n> classifeed offer show {SELLER} {_NAMESPACE} {external_id}")
    offer = story.client.get_offer(offer_name(SELLER, _NAMESPACE, external_id))
    show_offer(out, offer)
    if not any(picture.state == offer_pb2.OFFER_PICTURE_STATE_STORED for picture in offer.pictures):
        raise failed(f"The picture of {external_id} is not stored.")
    address = _thumbnail_of(story, external_id)
    kind, size_bytes = _open(address)
    out.say("\nThe search has its address, and that of its thumbnail opens:")
    out.say(f"  {address}")
    out.say(f"  {kind}, {size_words(size_bytes)}")

    name = task_name(SELLER, _NAMESPACE, offer.last_task_id)
    request = task_service_pb2.ListOfferErrorsRequest(parent=name, kind="ISSUE_KIND_PICTURE", page_size=3)
    errors = list(story.client.list_offer_errors(request).errors)
    out.say("\nThe picture of another offer is not at its link, which its seller reads:\n")
    show_groups(out, group_issues(errors))
    if not errors:
        raise failed("No picture has failed, though one of the links leads nowhere.")
    return {
        "picture": {"offer": document_of(offer), "thumbnail": address, "media_type": kind},
        "failed_picture": document_of(errors[0]),
    }


def _thumbnail_of(story: Story, external_id: str) -> str:
    """Return the address of a thumbnail: the address of the picture in the search, with another size."""
    found = find_offers(
        story.client, "*", seller=SELLER, conditions=[f"namespace:{_NAMESPACE}", f"external_id:{external_id}"], limit=1
    )
    addresses = [str(address) for hit in found.hits for address in hit_document(hit)["pictures"]]
    if not addresses or "/get/" not in addresses[0]:
        raise failed(f"The search has no address of the picture of {external_id}.")
    return f"{addresses[0].rpartition('/')[0]}/{_THUMBNAIL}"


def _open(address: str) -> tuple[str, int]:
    """Return the media type and the size of the content at an address."""
    try:
        with urllib.request.urlopen(address, timeout=_OPENS_S) as response:  # noqa: S310 - an address of the suite
            return str(response.headers.get_content_type()), len(response.read())
    except (OSError, urllib.error.HTTPError) as error:
        raise failed(f"{address} does not open: {error}.") from error
