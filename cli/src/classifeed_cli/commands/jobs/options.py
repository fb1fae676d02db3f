"""What the commands about jobs have in common: options, and the client."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classifeed_cli.platform.installation import Installation
from classifeed_client import JobClient

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job.")]
QueueArgument = Annotated[str, typer.Argument(help="Name of the queue.")]
ServiceOption = Annotated[str, typer.Option("--service", help="Only this service: loader, processor, offers.")]


def connect_jobs(data: Path | None, address: str | None) -> JobClient:
    """Return a client of the job services of the installation that the options point to.

    Raises:
        CommandError: UNAVAILABLE, nothing runs there.
    """
    return Installation.find(data, address).job_client()
