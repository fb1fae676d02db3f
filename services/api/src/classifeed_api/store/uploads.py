"""Reads and writes of uploads. Every function runs in the caller's transaction."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from classifeed_api.domain.uploads import NewUpload, Upload
from classifeed_common.db import Tx, load_queries

SQL = load_queries(__package__)


async def insert(tx: Tx, upload_id: UUID, upload: NewUpload) -> bool:
    """Notes an upload that is not stored yet; False when its request_id was used before."""
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
        },
    )
    return await cursor.fetchone() is not None


async def mark_stored(tx: Tx, upload_id: UUID) -> None:
    """Says that the file lies in the object store; idempotent."""
    await tx.execute(SQL["mark_stored"], {"upload_id": upload_id})


async def get(tx: Tx, upload_id: UUID) -> Upload | None:
    """Returns an upload by its id."""
    cursor = await tx.execute(SQL["get_upload"], {"upload_id": upload_id})
    row = await cursor.fetchone()
    return upload_of(row) if row else None


async def get_by_request(tx: Tx, seller_id: str, request_id: str) -> Upload | None:
    """Returns the upload that a request_id made."""
    cursor = await tx.execute(SQL["get_upload_by_request"], {"seller_id": seller_id, "request_id": request_id})
    row = await cursor.fetchone()
    return upload_of(row) if row else None


async def set_task(tx: Tx, upload_id: UUID, task_id: int) -> None:
    """Notes the task that loads the upload; the first one stays."""
    await tx.execute(SQL["set_task"], {"upload_id": upload_id, "task_id": task_id})


def upload_of(row: tuple[Any, ...]) -> Upload:
    """Makes an upload of the first ten columns that the queries select."""
    return Upload(*row[:10])
