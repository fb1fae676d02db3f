"""`classifeed up`: starts the suite on this machine."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from classifeed_cli.commands.status import print_status
from classifeed_cli.options import DataOption, data_folder
from classifeed_cli.terminal.output import JsonOption, Output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("up")(up)


def up(
    data: DataOption = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return when everything is healthy, and leave it running.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Maximum time until everything is healthy, in seconds.", min=1)] = 120,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Services or parts to start, comma-separated; their dependencies start, too."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start PostgreSQL, Kafka, S3 and the services; stop them on Ctrl-C, or leave them running with --detach."""
    from classifeed_cli.platform.planning.layout import Layout
    from classifeed_cli.platform.planning.service_table import ServiceTable
    from classifeed_cli.platform.supervision.daemon import serve, start_detached, wait_for_other
    from classifeed_cli.platform.supervision.description import describe_started, describe_status, read_running

    output = Output(as_json)
    layout = Layout(data_folder(data))
    names = only or []
    ServiceTable.load().choose(names)

    layout.prepare()
    running = wait_for_other(layout, timeout)
    if running is not None:
        output.say(f"already running in {layout.root}")
        print_status(output, asyncio.run(describe_status(running)))
    elif detach:
        output.progress(f"starting in {layout.root}")
        print_status(output, asyncio.run(describe_started(start_detached(layout, names, timeout))))
    else:

        async def announce() -> None:
            document = read_running(layout)
            if document is not None:
                print_status(output, await describe_started(document))
            output.say("Ctrl-C stops it")

        serve(layout, names, timeout, progress=output.progress, on_ready=announce)
