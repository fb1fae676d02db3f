"""Output of an offer for people."""

from __future__ import annotations

from typing import Final, Literal

from classifeed.offers.v1 import offer_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.views.amounts import price_words

_HANG: Final = 12


def show_offer(out: Output, offer: offer_pb2.Offer) -> None:
    """Print an offer, with the states of its pictures."""
    content = offer.content
    origin = "kept by hand" if offer.origin == offer_pb2.OFFER_ORIGIN_MANUAL else "from the feed"
    waits = "" if offer.published_version >= offer.version else " (newest version not indexed yet)"
    out.say(f"{offer.external_id}: {offer_status(offer)}, {origin}{waits}")
    out.fields({
        "title": content.title,
        "price": price_of(content),
        "before": price_of(content, "old_price"),
        "stock": str(content.stock_quantity) if content.HasField("stock_quantity") else "",
        "available": "" if content.available else "no",
        "category": " / ".join(content.category_path) or content.category_id,
        "vendor": content.vendor,
        "link": content.url,
        "text": content.description,
        "approved": "by a setting, without moderation" if offer.moderation == "setting" else offer.moderation,
        "last load": offer.last_task_id,
        "waits": f"for a decision about load {offer.waiting_task_id}" if offer.waiting_task_id else "",
    })  # fmt: skip
    pictures = {picture.url: picture for picture in offer.pictures}
    for url in content.picture_urls:
        out.say(f"  picture   {url}")
        words = _picture_words(pictures.get(url))
        if words:
            out.say(f"{'':<{_HANG}}{words}", hang=_HANG)
    for attribute in content.attributes:
        out.say(f"  {attribute.name}: {attribute.value} {attribute.unit}".rstrip())


def price_of(content: offer_pb2.OfferContent, field: Literal["price", "old_price"] = "price") -> str:
    """Return a price for people; empty if there is none."""
    if not content.HasField(field):
        return ""
    return price_words(content.price if field == "price" else content.old_price)


def offer_status(offer: offer_pb2.Offer) -> str:
    """Return the status of an offer as in the API, without the prefix."""
    return enum_label(offer_pb2.OfferStatus.DESCRIPTOR, offer.status)


def _picture_words(picture: offer_pb2.OfferPicture | None) -> str:
    """Return the state of a picture, for a line below its link; empty if it was not requested."""
    if picture is None:
        return ""
    if picture.state == offer_pb2.OFFER_PICTURE_STATE_STORED:
        info = picture.info
        size = f" ({info.width} × {info.height})" if info.width else ""
        return f"stored{size} at /get/{info.namespace}/{info.group_id}/{info.name}/orig"
    if picture.state == offer_pb2.OFFER_PICTURE_STATE_FAILED:
        return f"failed: {picture.failure.message or picture.failure.code}"
    return "awaited"


OFFERS: Final = Table[offer_pb2.Offer](
    {
        "id": lambda offer: offer.external_id,
        "status": offer_status,
        "price": lambda offer: price_of(offer.content),
        "title": lambda offer: offer.content.title,
    }
)
