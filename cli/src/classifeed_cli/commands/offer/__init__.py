"""`classifeed offer …`: stored offers, changes of single offers, and their timelines."""

from __future__ import annotations

import typer

from classifeed_cli.commands.offer import changing, reading


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Offers as they are stored, changes of single ones, and their timelines.")
    reading.register(group)
    changing.register(group)
    app.add_typer(group, name="offer", no_args_is_help=True)
