"""`classifeed moderation …`: texts of users, their verdicts, and the decisions about them."""

from __future__ import annotations

import typer

from classifeed_cli.commands.moderation import appealing, deciding, reading


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Texts of users: their verdicts, and the decisions about them.", no_args_is_help=True)
    for module in (reading, deciding, appealing):
        module.register(group)
    app.add_typer(group, name="moderation")
