"""`classifeed task …`: outcomes of loads, canceling and repeating them, and decisions about held ones."""

from __future__ import annotations

import typer

from classifeed_cli.commands.task import changing, deciding, reading


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="Loads: their outcome, canceling and repeating them, and decisions about held ones.", no_args_is_help=True
    )
    for module in (changing, deciding, reading):
        module.register(group)
    app.add_typer(group, name="task")
