"""`classifeed settle`: wait until all work is done."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from classifeed_cli.options import DataOption
from classifeed_cli.terminal.output import JsonOption, Output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("settle")(settle)


def settle(
    data: DataOption = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at the most.", min=0)] = 60,
    as_json: JsonOption = False,
) -> None:
    """Return when all lags, outboxes, publish marks and due jobs are empty; else exit code 4 and what is left."""
    from classifeed_cli.platform.installation import Installation
    from classifeed_cli.platform.settle import wait_settled

    output = Output(as_json)
    installation = Installation.find(data)
    document = asyncio.run(wait_settled(installation.http, timeout))
    output.document(document)
    output.say(f"settled after {document['seconds']} s")
