"""`classifeed jobs …`: background jobs of all services."""

from __future__ import annotations

import typer

from classifeed_cli.commands.jobs import changing, queues, reading, schedules


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Background jobs of all services that run any.", no_args_is_help=True)
    for module in (changing, reading, queues, schedules):
        module.register(group)
    app.add_typer(group, name="jobs")
