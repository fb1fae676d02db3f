"""`classifeed down`: stops the installation that `up` started."""

from __future__ import annotations

from typing import Annotated

import typer

from classifeed_cli.options import DataOption, data_folder
from classifeed_cli.terminal.output import JsonOption, Output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("down")(down)


def down(
    data: DataOption = None,
    timeout: Annotated[float, typer.Option(help="Maximum time to drain, in seconds.", min=1)] = 90,
    as_json: JsonOption = False,
) -> None:
    """Drain and stop the installation of this folder; do nothing if none runs."""
    from classifeed_cli.platform.planning.layout import Layout
    from classifeed_cli.platform.supervision.shutdown import stop_installation

    output = Output(as_json)
    layout = Layout(data_folder(data))
    stopped = stop_installation(layout, timeout)
    output.document({"stopped": stopped.supervisor, "leftovers": list(stopped.leftovers)})
    if stopped.leftovers:
        output.say(f"stopped processes that a killed supervisor left running: {', '.join(stopped.leftovers)}")
    elif stopped.supervisor:
        output.say(f"stopped the suite in {layout.root}")
    else:
        output.say(f"no suite runs in {layout.root}")
