"""`classifeed feed upload`: uploads a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classifeed_cli.commands.feed.completion import FailOnRejectedOption, end_load
from classifeed_cli.commands.feed.loading import load_file
from classifeed_cli.commands.feed.settings import CurrencyOption, Disposition, Mode
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceOption, SellerOption
from classifeed_cli.session import Session, with_session
from classifeed_client import feed_name


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(upload)


@with_session
def upload(
    session: Session,
    file: Annotated[Path, typer.Argument(help="The feed file; its name is a label only.", exists=True, dir_okay=False)],
    seller: SellerOption,
    namespace: NamespaceOption = "default",
    mode: Annotated[
        Mode,
        typer.Option(
            case_sensitive=False, help="REPLACE: the file is the whole namespace. PATCH: it changes only what it names."
        ),
    ] = Mode.REPLACE,
    disposition: Annotated[
        Disposition,
        typer.Option(case_sensitive=False, help="Delete offers that a REPLACE load lacks, or keep them by hand."),
    ] = Disposition.DELETE,
    force: Annotated[
        bool, typer.Option("--force", help="Load even if the next load of the namespace's link will undo it.")
    ] = False,
    allow_removals: Annotated[
        bool, typer.Option("--allow-removals", help="Load it without a decision, even if it removes most offers.")
    ] = False,
    allow_changes: Annotated[
        bool,
        typer.Option(
            "--allow-changes", help="Load it without a decision, even if prices move far or no offer is available."
        ),
    ] = False,
    fail_on_rejected: FailOnRejectedOption = None,
    currency: CurrencyOption = None,
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time to wait for completion, in seconds.")] = 600,
) -> int:
    """Upload a file, wait until it is loaded, and print the outcome."""
    out = session.out
    feed_name(seller, namespace)
    with session.client() as client:
        task = load_file(
            client,
            out,
            file,
            seller_id=seller,
            namespace=namespace,
            mode=mode.value,
            disposition=disposition.value,
            force=force,
            allow_removals=allow_removals,
            allow_changes=allow_changes,
            currency=currency,
            timeout_s=timeout,
        )
    exit_code = end_load(out, task, fail_on_rejected)
    out.document(document_of(task))
    return exit_code
