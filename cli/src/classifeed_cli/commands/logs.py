"""`classifeed logs`: logs of the services of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from classifeed_cli.options import DataOption, data_folder
from classifeed_cli.terminal.output import JsonOption, Output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("logs")(logs)


def logs(
    service: Annotated[
        str, typer.Argument(metavar="[SERVICE]", help="One service, or postgres, kafka, s3, supervisor, migrate.")
    ] = "",
    task: Annotated[str, typer.Option(metavar="SELLER/NAMESPACE/TASK", help="Only lines about this load.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines as they are written.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="Number of newest lines to print first.")] = 50,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the newest lines of the logs of all services, ordered by time; the suite need not run."""
    from classifeed_cli.platform import log_files
    from classifeed_cli.platform.planning.layout import Layout

    if follow and as_json:
        raise typer.BadParameter("--follow never completes, and --json is one document; choose one of them")
    wanted = None
    if task:
        parts = task.split("/")
        if len(parts) != 3 or not all(parts) or not parts[2].isdigit():
            raise typer.BadParameter("--task: write it as SELLER/NAMESPACE/TASK, such as my-shop/default/7")
        wanted = log_files.about_task(*parts)
    out = Output(as_json)
    files = log_files.log_files(Layout(data_folder(data)), service)
    begun = log_files.Follower(files, wanted) if follow else ()
    newest = log_files.newest_lines(files, lines, wanted)
    for line in newest:
        out.say(line.words)
    if not newest and not follow:
        out.say(f"No line about {task}." if task else "The logs are empty.")
    out.document({"lines": [{"service": line.service, **(line.fields or {"text": line.text})} for line in newest]})
    for line in begun:
        out.say(line.words)
