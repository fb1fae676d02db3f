"""Stores a received file so that a task will load it, even if this process dies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

from classifeed.feeds.v1.load_pb2 import LOAD_MODE_REPLACE
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.domain.uploads import NewUpload, Upload, reference_of
from classifeed_api.store import feeds, task_line, uploads
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition, FieldViolation, InvalidArgument, NotFound


class StoreUpload:
    """Stores an upload and makes it due.

    The reference to the file is written before the file, so that no clean-up can delete the file in between. After a
    crash before the end, the upload never becomes due: its sender got no response and sends it again.
    """

    def __init__(
        self, database: Database, blobs: BlobStore, refs: BlobRefs, *, on_stored: Callable[[], None] = lambda: None
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._refs = refs
        self._on_stored = on_stored

    async def admit(self, key: NamespaceKey, *, mode: int, request_id: str | None, force: bool) -> None:
        """Return if an upload to the namespace would be accepted, before its bytes are received.

        Args:
            key: the namespace.
            mode: number of the LoadMode of the upload; never the unspecified one.
            request_id: idempotency key of the call.
            force: accept the upload even if the namespace has a feed.

        Raises:
            FailedPrecondition: upload and feed by link both replace all offers, and the upload is not forced.
        """
        async with self._database.transaction() as tx:
            if not force and not await _is_known(tx, key, request_id):
                await _require_no_rival(tx, key, mode)

    async def __call__(self, upload: NewUpload, path: Path) -> Upload:
        """Return the stored upload; idempotent by request_id.

        Raises:
            InvalidArgument: the request_id was used for another file or another namespace.
            FailedPrecondition: upload and feed by link both replace all offers, and the upload is not forced.
            NotFound: the upload was removed meanwhile.
            Unavailable: the object store cannot be reached.
        """
        upload_id = uuid4()
        async with self._database.transaction() as tx:
            fresh = await uploads.insert(tx, upload_id, upload)
            if not fresh:
                upload_id = await self._earlier(tx, upload)
            await self._refs.add(tx, upload.sha256, reference_of(upload_id))
        await self._blobs.put_file(path, upload.sha256)
        try:
            stored = await self._make_due(upload_id, upload)
        except FailedPrecondition:
            await self._forget(upload_id)
            raise
        if stored is None:
            raise _removed(str(upload_id))
        self._on_stored()
        return stored

    async def _make_due(self, upload_id: UUID, upload: NewUpload) -> Upload | None:
        async with self._database.transaction() as tx:
            await task_line.lock(tx, upload.key)
            if not upload.force and not await _is_known(tx, upload.key, upload.request_id):
                await _require_no_rival(tx, upload.key, upload.mode)
            feed = await feeds.find(tx, upload.key)
            # The upload comes after a removal of the namespace, so its version is higher.
            place = await task_line.next_place(tx, upload.key, above=feed.version if feed else 0)
            await uploads.mark_stored(tx, upload_id, place)
            return await uploads.find(tx, upload_id)

    async def _forget(self, upload_id: UUID) -> None:
        async with self._database.transaction() as tx:
            if await uploads.delete_unstored(tx, upload_id):
                await self._refs.drop(tx, reference_of(upload_id))

    async def _earlier(self, tx: Tx, upload: NewUpload) -> UUID:
        earlier = await uploads.find_by_request(tx, upload.seller_id, upload.request_id or "")
        if earlier is None:
            raise _removed(f"with request_id {upload.request_id}")
        if (earlier.sha256, earlier.namespace) != (upload.sha256, upload.namespace):
            raise InvalidArgument(
                "REQUEST_ID_REUSED",
                f"The request_id {upload.request_id} was used for another upload of seller {upload.seller_id}. "
                "Send a new request_id with a new file.",
                violations=[FieldViolation("spec.request_id", "was used for another file or namespace")],
            )
        return earlier.upload_id


async def _is_known(tx: Tx, key: NamespaceKey, request_id: str | None) -> bool:
    """Whether the call repeats one that was, or could have been, acknowledged."""
    return request_id is not None and await uploads.is_request_stored(tx, key.seller_id, request_id)


async def _require_no_rival(tx: Tx, key: NamespaceKey, mode: int) -> None:
    """Refuse a replacing upload to a namespace whose link replaces all offers, too: each would undo the other."""
    if mode != LOAD_MODE_REPLACE:
        return
    feed = await feeds.find(tx, key)
    if feed is not None and not feed.is_removed and feed.has_link and feed.settings.mode == LOAD_MODE_REPLACE:
        raise FailedPrecondition(
            "NAMESPACE_HAS_FEED",
            f"{key.name} has a feed by link. Each load of the link replaces all offers of the namespace, so its next "
            "load would undo this upload. Delete that feed, upload to another namespace, upload in the mode PATCH, or "
            "force the upload.",
            metadata={"feed": key.name},
        )


def _removed(upload: str) -> NotFound:
    return NotFound(
        "UPLOAD_NOT_FOUND", f"The upload {upload} was removed while its file was being stored. Send the file again."
    )
