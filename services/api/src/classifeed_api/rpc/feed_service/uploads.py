"""Methods for uploads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from uuid import UUID

from classifeed.feeds.v1 import feed_service_pb2, load_pb2
from classifeed_api.app.uploads.limit_uploads import UploadSlots
from classifeed_api.app.uploads.store_upload import StoreUpload
from classifeed_api.domain.feed_settings import check_currency
from classifeed_api.domain.namespaces import NamespaceKey, namespace_to_load
from classifeed_api.domain.uploads import NewUpload, Upload
from classifeed_api.rpc.feed_service.spool import Spool
from classifeed_api.rpc.feed_service.upload_pieces import pieces_of
from classifeed_api.store import uploads
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound
from classifeed_common.rpc.context import Context
from classifeed_common.spool import run_folder
from classifeed_common.telemetry.tracing import describe_span

# 64 KiB within this time is 17 kbit/s: slower uploads would hold a slot for days.
_IDLE_S: Final = 30.0


class UploadMethods:
    """Methods for uploads, which the api keeps.

    Args:
        database: database of the uploads.
        store_upload: use case that stores a received file.
        slots: limits of open uploads.
        spool_dir: folder for files that are being received.
        limit_bytes: largest accepted file, in bytes.
        idle_s: seconds after which an idle upload is aborted.
    """

    def __init__(
        self,
        database: Database,
        store_upload: StoreUpload,
        slots: UploadSlots,
        *,
        spool_dir: Path,
        limit_bytes: int,
        idle_s: float = _IDLE_S,
    ) -> None:
        self._database = database
        self._store_upload = store_upload
        self._slots = slots
        self._spool_dir = spool_dir
        self._limit_bytes = limit_bytes
        self._idle_s = idle_s

    async def UploadFeed(
        self, request_iterator: AsyncIterator[feed_service_pb2.UploadFeedRequest], context: Context
    ) -> feed_service_pb2.Upload:
        """Spool the pieces, store the file, and respond once a task is certain to load it."""
        spec: feed_service_pb2.UploadSpec | None = None
        key = NamespaceKey("", "")
        with ExitStack() as held:
            open_upload = held.enter_context(self._slots.hold())
            folder = held.enter_context(run_folder(self._spool_dir))
            spool = held.enter_context(Spool(folder, limit_bytes=self._limit_bytes))
            async for request in pieces_of(request_iterator, self._idle_s, open_upload):
                part = request.WhichOneof("part")
                if (part == "spec") is not (spec is None):
                    raise _wrong_order(part)
                if part == "spec":
                    spec = request.spec
                    check_currency(spec.default_currency, field="spec.default_currency")
                    key = NamespaceKey(spec.seller_id, namespace_to_load(spec.namespace, field="spec.namespace"))
                    describe_span(seller=key.seller_id, namespace=key.namespace)
                    held.enter_context(self._slots.hold_for(key.seller_id))
                    mode = spec.mode or load_pb2.LOAD_MODE_REPLACE
                    request_id = spec.request_id or None
                    await self._store_upload.admit(key, mode=mode, request_id=request_id, force=spec.force)
                else:
                    await spool.write(request.chunk)
                del request
            if spec is None:
                raise _wrong_order("nothing")
            sha256 = spool.finish()
            _require_whole(spec, spool.size_bytes, sha256)
            upload = await self._store_upload(_new_upload(spec, key, sha256, spool.size_bytes), spool.path)
        return _upload_message(upload)

    async def GetUpload(self, request: feed_service_pb2.GetUploadRequest, context: Context) -> feed_service_pb2.Upload:
        """Return an upload."""
        try:
            upload_id = UUID(request.name.removeprefix("uploads/"))
        except ValueError as error:
            raise InvalidArgument(
                "UPLOAD_NAME_INVALID",
                f"{request.name!r} is not the name of an upload. Names have the form uploads/<uuid>.",
                violations=[FieldViolation("name", "must end in a UUID")],
            ) from error
        async with self._database.transaction() as tx:
            upload = await uploads.find(tx, upload_id)
        if upload is None:
            raise NotFound("UPLOAD_NOT_FOUND", f"There is no {request.name}.")
        return _upload_message(upload)


def _new_upload(spec: feed_service_pb2.UploadSpec, key: NamespaceKey, sha256: str, size_bytes: int) -> NewUpload:
    return NewUpload(
        seller_id=key.seller_id,
        namespace=key.namespace,
        mode=spec.mode or load_pb2.LOAD_MODE_REPLACE,
        disposition=spec.disposition or load_pb2.DISPOSITION_DELETE,
        file_name=spec.file_name,
        request_id=spec.request_id or None,
        sha256=sha256,
        size_bytes=size_bytes,
        force=spec.force,
        allow_removals=spec.allow_removals,
        allow_changes=spec.allow_changes,
        default_currency=spec.default_currency,
    )


def _require_whole(spec: feed_service_pb2.UploadSpec, size_bytes: int, sha256: str) -> None:
    if spec.size_bytes and spec.size_bytes != size_bytes:
        raise InvalidArgument(
            "UPLOAD_CUT_OFF",
            f"{spec.size_bytes} bytes were announced, {size_bytes} received. Nothing was stored; send the file again.",
            violations=[FieldViolation("spec.size_bytes", f"must be the number of bytes sent, {size_bytes}")],
        )
    if spec.sha256 and spec.sha256 != sha256:
        raise InvalidArgument(
            "UPLOAD_DAMAGED",
            "The received file is not the announced one. Nothing was stored; send it again.",
            violations=[FieldViolation("spec.sha256", f"must be the hash of the bytes sent, {sha256}")],
        )


def _wrong_order(part: str) -> InvalidArgument:
    return InvalidArgument(
        "UPLOAD_OUT_OF_ORDER",
        f"An upload is one spec and then the pieces of the file; got {part} out of order.",
        violations=[FieldViolation("part", "the first message must be `spec`, all others `chunk`")],
    )


def _upload_message(upload: Upload) -> feed_service_pb2.Upload:
    message = feed_service_pb2.Upload(
        name=f"uploads/{upload.upload_id}",
        upload_id=str(upload.upload_id),
        seller_id=upload.seller_id,
        namespace=upload.namespace,
        sha256=upload.sha256,
        bytes=upload.size_bytes,
        file_name=upload.file_name,
    )
    if upload.task_id is not None:
        message.task = f"sellers/{upload.seller_id}/feeds/{upload.namespace}/tasks/{upload.task_id}"
    message.create_time.FromDatetime(upload.created_at)
    return message
