"""`classifeed offer …`: offers as their owner has them, and the way that each took."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed_cli.messages import document_of, enum_label
from classifeed_cli.options import NamespaceArgument, SellerArgument
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.amounts import price_words
from classifeed_cli.views.explanation import show_explanation
from classifeed_client import feed_name, offer_name

_app = typer.Typer(help="Offers as they are stored, and the timeline of each.", no_args_is_help=True)
_Id = Annotated[str, typer.Argument(help="The seller's id of the offer.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(_app, name="offer")


@_app.command("list")
@with_session
def list_offers(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    limit: Annotated[int, typer.Option(min=1, help="Offers to print.")] = 50,
) -> None:
    """List the offers of a namespace by external id; removed ones are left out."""
    out = session.out
    parent = feed_name(seller, namespace)
    with session.client() as client:

        def ask(size: int, token: str) -> offer_service_pb2.ListOffersResponse:
            return client.list_offers(
                offer_service_pb2.ListOffersRequest(parent=parent, page_size=size, page_token=token)
            )

        found = collect(ask, "offers", limit)
    if found.offers:
        out.table(
            ("id", "status", "price", "title"),
            (
                (offer.external_id, _status(offer), price_of(offer.content), offer.content.title)
                for offer in found.offers
            ),
        )
        if found.next_page_token:
            out.say(f"… more than {limit}; increase --limit to see more")
    else:
        out.say(f"{seller} has no offers in {namespace}.")
    out.document(document_of(found))


@_app.command()
@with_session
def show(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    external_id: _Id,
) -> None:
    """Print one offer."""
    out = session.out
    name = offer_name(seller, namespace, external_id)
    with session.client() as client:
        offer = client.get_offer(name)
    content = offer.content
    origin = "kept by hand" if offer.origin == offer_pb2.OFFER_ORIGIN_MANUAL else "from the feed"
    waits = "" if offer.published_version >= offer.version else " (newest version not indexed yet)"
    out.say(f"{offer.external_id}: {_status(offer)}, {origin}{waits}")
    lines = (
        ("title", content.title),
        ("price", price_of(content)),
        ("before", price_of(content, "old_price")),
        ("stock", str(content.stock_quantity) if content.HasField("stock_quantity") else ""),
        ("available", "" if content.available else "no"),
        ("category", " / ".join(content.category_path) or content.category_id),
        ("vendor", content.vendor),
        ("link", content.url),
        ("text", content.description),
        ("approved", "by a setting, without moderation" if offer.moderation == "setting" else offer.moderation),
        ("last load", offer.last_task_id),
        ("waits", f"for a decision about load {offer.waiting_task_id}" if offer.waiting_task_id else ""),
    )
    for label, value in lines:
        if value:
            out.say(f"  {label:<9} {value}")
    pictures = {picture.url: picture for picture in offer.pictures}
    for url in content.picture_urls:
        out.say(f"  picture   {url}{_picture_words(pictures.get(url))}")
    for attribute in content.attributes:
        out.say(f"  {attribute.name}: {attribute.value} {attribute.unit}".rstrip())
    out.document(document_of(offer))


@_app.command()
@with_session
def explain(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    external_id: _Id,
) -> None:
    """Explain an offer: its stages from the line in the file to the search, or what stopped it and how to fix it."""
    out = session.out
    name = offer_name(seller, namespace, external_id)
    with session.client() as client:
        explanation = client.explain_offer(name)
    show_explanation(out, explanation)
    out.document(document_of(explanation))


def price_of(content: offer_pb2.OfferContent, field: Literal["price", "old_price"] = "price") -> str:
    """Return a price for people, empty where there is none."""
    if not content.HasField(field):
        return ""
    return price_words(content.price if field == "price" else content.old_price)


def _picture_words(picture: offer_pb2.OfferPicture | None) -> str:
    """Return what became of a picture, to stand behind its link; empty where nobody was asked for it."""
    if picture is None:
        return ""
    if picture.state == offer_pb2.OFFER_PICTURE_STATE_STORED:
        info = picture.info
        size = f" ({info.width} × {info.height})" if info.width else ""
        return f": stored at /get/{info.namespace}/{info.group_id}/{info.name}/orig{size}"
    if picture.state == offer_pb2.OFFER_PICTURE_STATE_FAILED:
        return f": failed, {picture.failure.message or picture.failure.code}"
    return ": awaited"


def _status(offer: offer_pb2.Offer) -> str:
    return enum_label(offer_pb2.OfferStatus.DESCRIPTOR, offer.status)
