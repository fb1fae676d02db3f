"""Reads and writes of uploads. Each function runs in the caller's transaction."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from classifeed_api.domain.uploads import NewUpload, Upload
from classifeed_common.db import Tx, fetch_as, load_queries
from classifeed_common.telemetry.tracing import kept_trace

_SQL: Final = load_queries(__package__, "uploads.sql")


async def insert(tx: Tx, upload_id: UUID, upload: NewUpload) -> bool:
    """Insert an upload that is not stored yet; return False if its request_id was used before."""
    cursor = await tx.execute(
        _SQL["insert_upload"],
        {
            "upload_id": upload_id,
            "seller_id": upload.seller_id,
            "namespace": upload.namespace,
            "request_id": upload.request_id,
            "mode": upload.mode,
            "disposition": upload.disposition,
            "file_name": upload.file_name,
            "sha256": upload.sha256,
            "size_bytes": upload.size_bytes,
            "allow_removals": upload.allow_removals,
            "default_currency": upload.default_currency,
            "allow_changes": upload.allow_changes,
        },
    )
    return await cursor.fetchone() is not None


async def mark_stored(tx: Tx, upload_id: UUID, place: int) -> None:
    """Record that the file is in the object store, and queue the upload for its task; idempotent.

    The task belongs to the current trace.
    """
    trace = Jsonb(kept_trace())
    await tx.execute(_SQL["mark_stored"], {"upload_id": upload_id, "place": place, "trace_context": trace})


async def is_request_stored(tx: Tx, seller_id: str, request_id: str) -> bool:
    """Whether an upload with this request_id is stored."""
    cursor = await tx.execute(_SQL["is_request_stored"], {"seller_id": seller_id, "request_id": request_id})
    row = await cursor.fetchone()
    return bool(row and row[0])


async def delete_unstored(tx: Tx, upload_id: UUID) -> bool:
    """Delete an upload that is not stored; return False if it is stored."""
    cursor = await tx.execute(_SQL["delete_unstored"], {"upload_id": upload_id})
    return cursor.rowcount > 0


async def find(tx: Tx, upload_id: UUID) -> Upload | None:
    """Return an upload by its id."""
    rows = await fetch_as(tx, Upload, _SQL["find_upload"], {"upload_id": upload_id})
    return rows[0] if rows else None


async def find_by_request(tx: Tx, seller_id: str, request_id: str) -> Upload | None:
    """Return the upload with a request_id."""
    parameters = {"seller_id": seller_id, "request_id": request_id}
    rows = await fetch_as(tx, Upload, _SQL["find_upload_by_request"], parameters)
    return rows[0] if rows else None


async def set_task(tx: Tx, upload_id: UUID, task_id: int) -> None:
    """Record the task that loads the upload; the first one stays."""
    await tx.execute(_SQL["set_task"], {"upload_id": upload_id, "task_id": task_id})
