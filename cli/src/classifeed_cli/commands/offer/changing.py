"""`classifeed offer set|delete`: changes of single offers that are maintained by hand."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_cli.commands.offer.argument import IdArgument
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceArgument, SellerArgument
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.offer import show_offer
from classifeed_client import offer_name

_VersionOption = Annotated[
    int, typer.Option("--version", min=0, help="Refuse if the offer has another version than this; 0: any.")
]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("set")(change)
    group.command()(delete)


@with_session
def change(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    external_id: IdArgument,
    title: Annotated[str | None, typer.Option(help="New title.")] = None,
    description: Annotated[str | None, typer.Option(help="New description; empty: none.")] = None,
    url: Annotated[str | None, typer.Option(help="New link of its page; empty: none.")] = None,
    price: Annotated[str | None, typer.Option(help="New price, such as 1490 or 1490.50; empty: none.")] = None,
    currency: Annotated[str, typer.Option(help="Currency of the price (ISO 4217); empty: the one it has.")] = "",
    available: Annotated[
        bool | None,
        typer.Option("--available/--unavailable", help="Whether the offer is available now.", show_default=False),
    ] = None,
    stock: Annotated[int | None, typer.Option(min=0, help="Pieces in stock.")] = None,
    version: _VersionOption = 0,
) -> None:
    """Change an offer that is kept by hand, and print it."""
    given = {
        "title": title,
        "description": description,
        "url": url,
        "price": price,
        "available": available,
        "stock_quantity": stock,
    }
    paths = [field for field, value in given.items() if value is not None]
    if not paths:
        raise CommandError(ExitCode.USAGE, "USAGE", "nothing to change: give a field, such as --price 1490")
    content = OfferContent(
        title=title or "", description=description or "", url=url or "", available=bool(available), stock_quantity=stock
    )
    if price:
        content.price.amount_micros = _micros_of(price)
        content.price.currency_code = currency
    with session.client() as client:
        offer = client.update_offer(offer_name(seller, namespace, external_id), content, paths, version=version)
    session.show(show_offer, offer)


@with_session
def delete(
    session: Session,
    seller: SellerArgument,
    namespace: NamespaceArgument,
    external_id: IdArgument,
    version: _VersionOption = 0,
    yes: YesOption = False,
) -> None:
    """Remove an offer that is kept by hand."""
    out = session.out
    name = offer_name(seller, namespace, external_id)
    confirm(out, f"Remove {external_id} of {seller}/{namespace}? It leaves the search.", yes=yes)
    with session.client() as client:
        offer = client.delete_offer(name, version=version)
    out.say(f"{external_id} of {seller}/{namespace} is removed.")
    out.document(document_of(offer))


def _micros_of(price: str) -> int:
    try:
        micros = Decimal(price.replace(",", ".")) * 1_000_000
        if micros.is_finite() and 0 <= micros < 2**63 and micros == int(micros):
            return int(micros)
    except InvalidOperation:
        pass
    raise CommandError(
        ExitCode.USAGE, "USAGE", f"--price {price}: not an amount of up to six decimals, such as 1490 or 1490.50"
    )
