"""The argument for the id of an offer."""

from __future__ import annotations

from typing import Annotated

import typer

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The seller's id of the offer.")]
