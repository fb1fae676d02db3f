"""`classifeed offer list|show|explain`: stored offers, and their timelines."""

from __future__ import annotations

from typing import Annotated

import typer

from classifeed.offers.v1 import offer_service_pb2
from classifeed_cli.commands.offer.argument import IdArgument
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceArgument, SellerArgument
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.explanation import show_explanation
from classifeed_cli.views.offer import OFFERS, show_offer
from classifeed_client import feed_name, offer_name


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("list")(list_offers)
    group.command()(show)
    group.command()(explain)


@with_session
def list_offers(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    limit: Annotated[int, typer.Option(min=1, help="Offers to print.")] = 50,
) -> None:
    """List the offers of a namespace by external id; removed ones are left out."""
    out = session.out
    request = offer_service_pb2.ListOffersRequest(parent=feed_name(seller, namespace))
    with session.client() as client:
        found = collect(client.list_offers, request, "offers", limit)
    if found.offers:
        out.rows(OFFERS, found.offers, more_than=limit if found.next_page_token else None)
    else:
        out.say(f"{seller} has no offers in {namespace}.")
    out.document(document_of(found))


@with_session
def show(session: Session, seller: SellerArgument, namespace: NamespaceArgument, external_id: IdArgument) -> None:
    """Print one offer."""
    name = offer_name(seller, namespace, external_id)
    with session.client() as client:
        session.show(show_offer, client.get_offer(name))


@with_session
def explain(session: Session, seller: SellerArgument, namespace: NamespaceArgument, external_id: IdArgument) -> None:
    """Explain an offer: its stages from the line in the file to the search, or what stopped it and the fix."""
    name = offer_name(seller, namespace, external_id)
    with session.client() as client:
        session.show(show_explanation, client.explain_offer(name))
