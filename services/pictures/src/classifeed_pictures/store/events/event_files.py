"""The table of event files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_pictures.domain.event_files import EventFile

_SQL: Final = load_queries(__package__, "event_files.sql")

Ended: TypeAlias = Literal["DONE", "FAILED", "REPLACED"]


async def add_files(tx: Tx, files: Sequence[EventFile]) -> list[EventFile]:
    """Insert unknown files and return them; a file that was replaced and is back counts as new."""
    parameters = {
        "names": [file.name for file in files],
        "etags": [file.etag for file in files],
        "sizes": [file.size_bytes for file in files],
        "put_at": [file.put_at for file in files],
    }
    return [EventFile(*row) for row in await fetch_named(tx, _SQL["add_files"], parameters)]


async def note_rows(tx: Tx, name: str, etag: str, *, rows: int, wrong_rows: int) -> None:
    """Record the progress of a file for operators; the job resumes from its checkpoint."""
    await tx.execute(_SQL["note_rows"], {"name": name, "etag": etag, "rows": rows, "wrong_rows": wrong_rows})


async def end_file(tx: Tx, name: str, etag: str, state: Ended, error: str | None = None) -> None:
    """Record that a file is finished, with the reason."""
    await tx.execute(_SQL["end_file"], {"name": name, "etag": etag, "state": state, "error": error})


async def list_ended(tx: Tx, *, before: datetime, limit: int) -> list[tuple[str, str]]:
    """Return name and ETag of files that ended before a time, oldest first."""
    return [
        (row.name, row.etag) for row in await fetch_named(tx, _SQL["list_ended"], {"before": before, "limit": limit})
    ]


async def delete_files(tx: Tx, files: Sequence[tuple[str, str]]) -> int:
    """Delete ended files by name and ETag; return the number of deleted rows."""
    parameters = {"names": [name for name, _ in files], "etags": [etag for _, etag in files]}
    return (await tx.execute(_SQL["delete_files"], parameters)).rowcount
