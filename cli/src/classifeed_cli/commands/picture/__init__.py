"""`classifeed picture …`: pictures by URL, the outcomes of their downloads, and the namespaces that keep them."""

from __future__ import annotations

import typer

from classifeed_cli.commands.picture import backups, changing, comparisons, contents, namespaces, similar, states


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="Pictures of offers: their states, their bytes, and their namespaces.", no_args_is_help=True
    )
    for module in (states, similar, contents, changing, namespaces, comparisons, backups):
        module.register(group)
    app.add_typer(group, name="picture")
