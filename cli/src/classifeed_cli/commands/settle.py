"""`classifeed settle`: waits until all work is done."""

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
    timeout: Annotated[float, typer.Option(help="Maximum time to wait, in seconds.", min=0)] = 60,
    as_json: JsonOption = False,
) -> None:
    """Wait until no lag, outbox, publish mark or due job is left. After the timeout, print the rest; exit code 4."""
    from classifeed_cli.platform.installation import Installation
    from classifeed_cli.platform.settle import wait_settled

    output = Output(as_json)
    installation = Installation.find(data)
    document = asyncio.run(wait_settled(installation.http, timeout))
    output.document(document)
    output.say(f"settled after {document['seconds']} s")
