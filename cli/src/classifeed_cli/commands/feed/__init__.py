"""`classifeed feed …`: uploads of files, and links to files."""

from __future__ import annotations

import typer

from classifeed_cli.commands.feed import fetches, formats, links, upload


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Upload files, or register links to them.", no_args_is_help=True)
    for module in (upload, links, fetches, formats):
        module.register(group)
    app.add_typer(group, name="feed")
