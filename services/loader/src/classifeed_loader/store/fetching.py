"""Queries of a running fetch. Each function runs in the caller's transaction."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import feed_pb2
from classifeed_common.db import Tx, fetch_as, load_queries
from classifeed_loader.domain.completions import Completion
from classifeed_loader.domain.fetches import FetchKey, FetchState, StoredFile
from classifeed_loader.domain.sources import Source

_SQL: Final = load_queries(__package__, "fetching.sql")

_TRIM_LIMIT: Final = 20


async def lock_source(tx: Tx, key: FetchKey) -> Source | None:
    """Return the source of a fetch, locked until the transaction ends; None if there is none."""
    rows = await fetch_as(tx, Source, _SQL["lock_source"], key._asdict())
    return rows[0] if rows else None


async def find_fetch(tx: Tx, key: FetchKey) -> FetchState | None:
    """Return the state of a fetch; None if there is none."""
    row = await (await tx.execute(_SQL["find_fetch"], key._asdict())).fetchone()
    return None if row is None else FetchState(*row)


async def begin(tx: Tx, key: FetchKey) -> None:
    """Mark the fetch as running; its first start time is kept."""
    await tx.execute(_SQL["begin_fetch"], {**key._asdict(), "running": feed_pb2.FETCH_OUTCOME_RUNNING})


async def note_wait(tx: Tx, key: FetchKey, message: str) -> None:
    """Mark the fetch as queued again, with the reason."""
    await tx.execute(_SQL["note_wait"], {**key._asdict(), "queued": feed_pb2.FETCH_OUTCOME_QUEUED, "message": message})


async def note_file(
    tx: Tx, key: FetchKey, file: StoredFile, *, http_status: int, final_url: str, etag: str, last_modified: str
) -> None:
    """Record the stored file of the fetch, so that it is not downloaded again."""
    columns = {
        "sha256": file.sha256,
        "size_bytes": file.size_bytes,
        "http_status": http_status,
        "final_url": final_url,
        "etag": etag,
        "last_modified": last_modified,
    }
    await tx.execute(_SQL["note_file"], {**key._asdict(), **columns})


async def end(tx: Tx, key: FetchKey, completion: Completion) -> None:
    """Complete the fetch."""
    columns = {
        "outcome": completion.outcome,
        "code": completion.code,
        "message": completion.message,
        "task": completion.task,
        "http_status": completion.http_status,
        "size_bytes": completion.size_bytes,
    }
    await tx.execute(_SQL["end_fetch"], {**key._asdict(), **columns})


async def note_success(tx: Tx, key: FetchKey, *, min_interval_s: float) -> None:
    """Record the success of a fetch at its source: the file for the next conditional request, and no failures."""
    await tx.execute(_SQL["note_success"], {**key._asdict(), "min_interval_s": min_interval_s})


async def note_failure(
    tx: Tx, key: FetchKey, *, min_interval_s: float, backoff_base_s: float, retry_after_s: float
) -> None:
    """Count a failure of the source; its next fetch backs off by the number of failures."""
    waits = {"min_interval_s": min_interval_s, "backoff_base_s": backoff_base_s, "retry_after_s": retry_after_s}
    await tx.execute(_SQL["note_failure"], {**key._asdict(), **waits})


async def make_due(tx: Tx, key: FetchKey) -> None:
    """Make the source due at once, if it is scheduled."""
    await tx.execute(_SQL["make_due"], key._asdict())


async def list_old(tx: Tx, key: FetchKey, *, kept: int) -> list[FetchKey]:
    """Return some completed fetches that created no task and are older than the newest `kept` of them."""
    limits = {"kept": kept, "limit": _TRIM_LIMIT, "loaded": feed_pb2.FETCH_OUTCOME_LOADED}
    rows = await (await tx.execute(_SQL["list_old"], {**key._asdict(), **limits})).fetchall()
    return [key._replace(fetch_id=fetch_id) for (fetch_id,) in rows]


async def delete(tx: Tx, key: FetchKey) -> None:
    """Delete a fetch."""
    await tx.execute(_SQL["delete_fetch"], key._asdict())
