"""Reads and writes of uploads. Every function runs in the caller's transaction."""

from __future__ import annotations

from uuid import UUID

from psycopg.types.json import Jsonb

from classifeed_api.domain.uploads import NewUpload, Upload
from classifeed_common.db import Tx, fetch_as, load_queries
from classifeed_common.telemetry.tracing import kept_trace

SQL = load_queries(__package__, "uploads.sql")


async def insert(tx: Tx, upload_id: UUID, upload: NewUpload) -> bool:
    """Note an upload that is not stored yet; False when its request_id was used before."""
    cursor = await tx.execute(
        SQL["insert_upload"],
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
    """Says that the file lies in the object store, and puts the upload into the line of tasks; idempotent.

    Its task belongs to the current trace.
    """
    trace = Jsonb(kept_trace())
    await tx.execute(SQL["mark_stored"], {"upload_id": upload_id, "place": place, "trace_context": trace})


async def is_request_stored(tx: Tx, seller_id: str, request_id: str) -> bool:
    """Whether a request_id made an upload whose file is stored."""
    cursor = await tx.execute(SQL["is_request_stored"], {"seller_id": seller_id, "request_id": request_id})
    row = await cursor.fetchone()
    return bool(row and row[0])


async def delete_unstored(tx: Tx, upload_id: UUID) -> bool:
    """Forgets an upload that was not stored; False when it was."""
    cursor = await tx.execute(SQL["delete_unstored"], {"upload_id": upload_id})
    return cursor.rowcount > 0


async def get(tx: Tx, upload_id: UUID) -> Upload | None:
    """Return an upload by its id."""
    rows = await fetch_as(tx, Upload, SQL["get_upload"], {"upload_id": upload_id})
    return rows[0] if rows else None


async def get_by_request(tx: Tx, seller_id: str, request_id: str) -> Upload | None:
    """Return the upload that a request_id made."""
    parameters = {"seller_id": seller_id, "request_id": request_id}
    rows = await fetch_as(tx, Upload, SQL["get_upload_by_request"], parameters)
    return rows[0] if rows else None


async def set_task(tx: Tx, upload_id: UUID, task_id: int) -> None:
    """Note the task that loads the upload; the first one stays."""
    await tx.execute(SQL["set_task"], {"upload_id": upload_id, "task_id": task_id})
