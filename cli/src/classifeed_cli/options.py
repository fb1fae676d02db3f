"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the installation.", envvar="CLASSIFEED_DATA", show_default=".classifeed"),
]
SellerArgument = Annotated[str, typer.Argument(help="Seller.")]
NamespaceArgument = Annotated[str, typer.Argument(help="Namespace within the seller.")]


def _not_empty(value: str) -> str:
    # An unset shell variable must not select the default namespace by mistake.
    if not value:
        raise typer.BadParameter("must not be empty; leave it out for `default`")
    return value


SellerOption = Annotated[str, typer.Option("--seller", help="Seller who owns the offers.")]
NamespaceOption = Annotated[str, typer.Option("--namespace", help="Namespace within the seller.", callback=_not_empty)]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="host:port of another installation's api.", envvar="CLASSIFEED_ADDRESS"),
]


def feed_options(seller: str, namespace: str) -> str:
    """Return the options that name a feed, as typed on the command line."""
    return f"--seller {seller}" + ("" if namespace == "default" else f" --namespace {namespace}")


def data_folder(data: Path | None) -> Path:
    """Return the folder from `--data` or CLASSIFEED_DATA, or the default folder."""
    return (data or Path(".classifeed")).absolute()
