"""Arguments and options that several commands for pictures share."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

OFFERS: Final = "offers"
"""Namespace of the pictures of offers."""
_MAX_URLS: Final = 1000
_NAME: Final = re.compile("[a-z][a-z0-9-]{0,31}")


def _urls(values: list[str]) -> list[str]:
    if "" in values:
        raise typer.BadParameter("a URL must not be empty")
    if len(values) > _MAX_URLS:
        raise typer.BadParameter(f"{len(values)} URLs are given; {_MAX_URLS} fit into a call, so name them in several")
    return values


def picture_namespace(value: str) -> str:
    """Return the name of a namespace; raise typer.BadParameter if it is invalid."""
    if value and not _NAME.fullmatch(value):
        raise typer.BadParameter(
            f"{value!r} cannot name a namespace: use 1 to 32 of a-z, 0-9 and -, beginning with a letter"
        )
    return value


def given_namespace(value: str) -> str:
    """Return the name of a required namespace; raise typer.BadParameter if it is empty or invalid."""
    if not value:
        raise typer.BadParameter("must not be empty")
    return picture_namespace(value)


UrlsArgument = Annotated[
    list[str],
    typer.Argument(metavar="URL...", help="URLs of pictures, or keys of those that were put.", callback=_urls),
]
KeeperOption = Annotated[
    str, typer.Option("--namespace", help="Namespace that keeps the picture.", callback=given_namespace)
]
