"""The scope of a repair: options for seller and namespace, and their resource name."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from classifeed_client import feed_name, seller_name

SellerOption: TypeAlias = Annotated[str, typer.Option("--seller", help="Only offers of this seller.")]
NamespaceOption: TypeAlias = Annotated[str, typer.Option("--namespace", help="Only this namespace of the seller.")]


def parent_of(seller: str, namespace: str) -> str:
    """Return the resource name of a seller or a namespace; empty for all offers.

    Raises:
        typer.BadParameter: A namespace is given without its seller.
    """
    if namespace and not seller:
        raise typer.BadParameter("--namespace needs --seller")
    return feed_name(seller, namespace) if namespace else seller_name(seller) if seller else ""
