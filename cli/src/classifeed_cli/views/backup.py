"""Output of backups of the picture records for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from classifeed.pictures.v1.picture_service_pb2 import Backup
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.views.amounts import duration_words, size_words, time_words

BACKUPS: Final = Table[Backup](
    {
        "backup": lambda each: each.name,
        "made": lambda each: time_words(each.begin_time) if each.HasField("begin_time") else "cannot be read",
        "urls": lambda each: f"{each.states:,}",
        "waiting": lambda each: f"{each.waiting_requests:,}",
        "stored": lambda each: f"{each.stored_pictures:,}",
        "size": lambda each: size_words(each.size_bytes),
    },
    empty="no backup yet: the first one is made within an hour of the service's first start",
)


def show_backups(out: Output, backups: Sequence[Backup]) -> None:
    """Print a line for each backup, and the errors of unreadable ones."""
    out.rows(BACKUPS, backups)
    for each in backups:
        if each.fault:
            out.say(f"{each.name}: {each.fault}", hang=2)


def age_words(backup: Backup) -> str:
    """Return the age of a backup, such as 2 h ago."""
    if not backup.HasField("begin_time"):
        return "at an unknown time"
    ago = datetime.now(UTC) - backup.begin_time.ToDatetime(UTC)
    return f"{duration_words(max(ago.total_seconds(), 0.0))} ago"
