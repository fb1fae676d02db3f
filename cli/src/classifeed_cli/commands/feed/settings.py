"""Options for the settings of a feed."""

from __future__ import annotations

import os
import re
import sys
from enum import StrEnum
from typing import Annotated, Final

import typer

from classifeed.feeds.v1 import feed_pb2
from classifeed_cli.durations import parse_duration
from classifeed_client import format_name

PASSWORD_VARIABLE: Final = "CLASSIFEED_FEED_PASSWORD"  # noqa: S105
ANY_FORMAT: Final = "any"
NO_CURRENCY: Final = "none"
_HEADER = re.compile(r"([A-Za-z0-9-]{1,64}):[ \t]*(.*)")


def _currency_code(text: str) -> str:
    """Return a currency code in capitals; empty for no currency.

    Raises:
        typer.BadParameter: The text does not have three letters.
    """
    if text.lower() == NO_CURRENCY:
        return ""
    if not (len(text) == 3 and text.isascii() and text.isalpha()):
        raise typer.BadParameter(f"{text!r} is not the code of a currency, such as RUB, KZT, USD or EUR")
    return text.upper()


class Mode(StrEnum):
    """Effect of a load on its namespace."""

    REPLACE = "REPLACE"
    PATCH = "PATCH"


class Disposition(StrEnum):
    """Treatment of offers that the file lacks."""

    DELETE = "DELETE"
    MAKE_MANUAL = "MAKE_MANUAL"


EveryOption = Annotated[
    float | None,
    typer.Option(
        "--every", parser=parse_duration, metavar="DURATION", help="Time between fetches, such as 10m, 1h or 1d."
    ),
]
ModeOption = Annotated[
    Mode | None,
    typer.Option(
        "--mode",
        case_sensitive=False,
        help="REPLACE: the file is the whole namespace. PATCH: it changes only what it names.",
    ),
]
DispositionOption = Annotated[
    Disposition | None,
    typer.Option(
        "--disposition", case_sensitive=False, help="Delete offers that a REPLACE load lacks, or keep them by hand."
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help=f"The one format that the file may have (`feed formats`), or `{ANY_FORMAT}`."),
]
CurrencyOption = Annotated[
    str | None,
    typer.Option(
        "--currency",
        parser=_currency_code,
        metavar="CODE",
        help=f"Currency of amounts without one in the file, such as RUB; `{NO_CURRENCY}`: that of the format.",
    ),
]
UserOption = Annotated[
    str | None,
    typer.Option("--user", help=f"User name for the site; the password comes from a prompt or {PASSWORD_VARIABLE}."),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="'NAME: VALUE'", help="Header of the request; may be repeated."),
]


def settings_of(
    *,
    url: str | None = None,
    every_s: float | None = None,
    mode: Mode | None = None,
    disposition: Disposition | None = None,
    format_id: str | None = None,
    currency: str | None = None,
    user: str | None = None,
    headers: list[str] | None = None,
) -> tuple[feed_pb2.FeedSettings, list[str]]:
    """Return the settings from the options, and the paths of the given ones.

    Raises:
        typer.BadParameter: A header is invalid, or there is no terminal for the password.
        Refused: The name of the format is invalid.
    """
    settings, paths = feed_pb2.FeedSettings(), []
    if url is not None:
        settings.source.url = url
        paths.append("settings.source.url")
    if user is not None or headers:
        settings.source.credentials.CopyFrom(_credentials(user, headers or []))
        paths.append("settings.source.credentials")
    if every_s is not None:
        settings.schedule.interval.FromNanoseconds(round(every_s * 1e9))
        paths.append("settings.schedule.interval")
    if mode is not None:
        settings.MergeFrom(feed_pb2.FeedSettings(mode=f"LOAD_MODE_{mode.value}"))
        paths.append("settings.mode")
    if disposition is not None:
        settings.MergeFrom(feed_pb2.FeedSettings(disposition=f"DISPOSITION_{disposition.value}"))
        paths.append("settings.disposition")
    if format_id is not None:
        settings.format = "" if format_id == ANY_FORMAT else format_name(format_id).rpartition("/")[2]
        paths.append("settings.format")
    if currency is not None:
        settings.default_currency = currency
        paths.append("settings.default_currency")
    return settings, paths


def _credentials(user: str | None, headers: list[str]) -> feed_pb2.FeedCredentials:
    credentials = feed_pb2.FeedCredentials()
    for header in headers:
        found = _HEADER.fullmatch(header)
        if found is None:
            raise typer.BadParameter("--header: write it as 'Name: value', such as 'X-Api-Key: 4711'")
        credentials.headers[found[1]] = found[2].strip()
    if user is not None:
        credentials.basic_auth.username = user
        credentials.basic_auth.password = _password(user)
    return credentials


def _password(user: str) -> str:
    password = os.environ.get(PASSWORD_VARIABLE)
    if password is not None:
        return password
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"--user: there is no terminal to type the password at; set {PASSWORD_VARIABLE}")
    return str(typer.prompt(f"Password of {user}", hide_input=True, err=True, default="", show_default=False))
