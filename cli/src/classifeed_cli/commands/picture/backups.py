"""`classifeed picture backups|restore`: backups of the picture records, and the restore of a backup."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from classifeed_cli.commands.jobs.waiting import end_with, wait_for_job
from classifeed_cli.exit_codes import refused
from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.backup import age_words, show_backups

_SERVICE: Final = "pictures"


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (backups, restore):
        group.command()(command)


@with_session
def backups(session: Session) -> None:
    """List the complete backups of the picture records, the newest first."""
    with session.picture_client() as client:
        found = client.list_backups()
    show_backups(session.out, found)
    session.out.document({"backups": [document_of(each) for each in found]})


@with_session
def restore(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Name of the backup; default: the newest.")] = "",
    yes: YesOption = False,
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time to wait for the restore, in seconds.")] = 3600,
) -> None:
    """Replace the picture records by a backup, and wait for completion.

    Each file of the backup is checked before anything is changed. Then later changes are applied again. Exit code 1 if
    the restore fails.
    """
    out = session.out
    with session.picture_client() as client:
        found = {each.name: each for each in client.list_backups()}
        chosen = found.get(name) if name else next(iter(found.values()), None)
        if chosen is None:
            what = f"there is no complete backup {name!r}" if name else "there is no complete backup yet"
            raise refused("BACKUP_UNKNOWN", f"{what}; `classifeed picture backups` lists them", name=name)
        question = f"Replace the picture records by the backup {chosen.name}, made {age_words(chosen)}?"
        confirm(out, question, yes=yes)
        started = client.restore_backup(chosen.name)
    with session.job_client() as jobs:
        # If all services share one address, the client knows only the first name.
        service = _SERVICE if _SERVICE in jobs.services else jobs.services[0]
        job = wait_for_job(out, jobs, service, started.job_id, timeout)
    end_with(out, service, job)
