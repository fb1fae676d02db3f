"""Options of the commands about jobs."""

from __future__ import annotations

from typing import Annotated

import typer

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job.")]
QueueArgument = Annotated[str, typer.Argument(help="Name of the queue.")]
ServiceOption = Annotated[
    str, typer.Option("--service", help="Only this service, such as loader, processor or pictures.")
]
