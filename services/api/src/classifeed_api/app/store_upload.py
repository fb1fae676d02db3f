"""Takes a file that has come whole, so that a task will load it whatever happens next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

from classifeed_api.domain.uploads import NewUpload, Upload
from classifeed_api.store import uploads
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound


class StoreUpload:
    """Stores an upload and makes it due.

    The reference to the file is written before the file, so that no clean-up can take the file away in between. A crash
    before the end leaves an upload that never becomes due; its sender got no answer and sends again.
    """

    def __init__(
        self, db: Database, blobs: BlobStore, refs: BlobRefs, *, on_stored: Callable[[], None] = lambda: None
    ) -> None:
        self._db = db
        self._blobs = blobs
        self._refs = refs
        self._on_stored = on_stored

    async def __call__(self, upload: NewUpload, path: Path) -> Upload:
        """Returns the stored upload; idempotent by request_id.

        Raises:
            InvalidArgument: the request_id was used for another file or another namespace.
            Unavailable: the object store cannot be reached.
        """
        upload_id = uuid4()
        async with self._db.transaction() as tx:
            fresh = await uploads.insert(tx, upload_id, upload)
            if not fresh:
                upload_id = await self._earlier(tx, upload)
            await self._refs.add(tx, upload.sha256, f"upload:{upload_id}")
        await self._blobs.put_file(path, upload.sha256)
        async with self._db.transaction() as tx:
            await uploads.mark_stored(tx, upload_id)
            stored = await uploads.get(tx, upload_id)
        if stored is None:
            raise NotFound("UPLOAD_NOT_FOUND", f"Upload {upload_id} was removed while it was stored. Send it again.")
        self._on_stored()
        return stored

    async def _earlier(self, tx: Tx, upload: NewUpload) -> UUID:
        earlier = await uploads.get_by_request(tx, upload.seller_id, upload.request_id or "")
        if earlier is None or (earlier.sha256, earlier.namespace) != (upload.sha256, upload.namespace):
            raise InvalidArgument(
                "REQUEST_ID_REUSED",
                f"The request_id {upload.request_id} was used for another upload of seller {upload.seller_id}. "
                "Send a new request_id with a new file.",
                violations=[FieldViolation("spec.request_id", "was used for another file or namespace")],
            )
        return earlier.upload_id
