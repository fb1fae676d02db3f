"""Calls for uploads of files."""

# Written from aio/uploads.py by `make stubs`: change it there.

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from classifeed.feeds.v1 import feed_service_pb2
from classifeed_client.connection import Connection
from classifeed_client.errors import DeadlineExceeded, Unreachable
from classifeed_client.names import DEFAULT_NAMESPACE, feed_name
from classifeed_client.requests import pieces_of, size_of

_POLL_S = 0.1


class UploadCalls(Connection):
    """Uploads files."""

    def upload_feed(
        self,
        file: Path,
        *,
        seller_id: str,
        namespace: str = "",
        mode: str = "REPLACE",
        disposition: str = "DELETE",
        request_id: str = "",
        force: bool = False,
        allow_removals: bool = False,
        allow_changes: bool = False,
        default_currency: str = "",
        timeout_s: float = 600.0,
        on_sent: Callable[[int], None] | None = None,
    ) -> feed_service_pb2.Upload:
        """Upload a file and return the upload; `on_sent` receives the number of bytes sent so far.

        With `allow_removals`, the load is not held because of removals; with `allow_changes`, it is not held because of
        changed prices or availability.

        Raises:
            OSError: The file cannot be read.
            ApiError: The call did not succeed.
        """
        feed_name(seller_id, namespace or DEFAULT_NAMESPACE)
        spec = feed_service_pb2.UploadSpec(
            seller_id=seller_id,
            namespace=namespace,
            mode=f"LOAD_MODE_{mode}",
            disposition=f"DISPOSITION_{disposition}",
            file_name=file.name[:255],
            request_id=request_id,
            force=force,
            allow_removals=allow_removals,
            allow_changes=allow_changes,
            default_currency=default_currency,
            size_bytes=size_of(file),
        )
        with file.open("rb") as source:
            pieces = pieces_of(spec, source, on_sent)
            return self._call(self._feeds.UploadFeed, pieces, feed_service_pb2.Upload, timeout_s)

    def get_upload(self, name: str) -> feed_service_pb2.Upload:
        """Return an upload by its resource name."""
        return self._call(self._feeds.GetUpload, feed_service_pb2.GetUploadRequest(name=name), feed_service_pb2.Upload)

    def wait_for_task_name(self, upload: feed_service_pb2.Upload, *, timeout_s: float) -> str:
        """Return the resource name of the task that loads an upload, as soon as it is created.

        Raises:
            DeadlineExceeded: The task was not created within the timeout. It will be: the upload is stored.
        """
        ends_at = time.monotonic() + timeout_s
        while not upload.task:
            if time.monotonic() > ends_at:
                raise DeadlineExceeded(
                    "TASK_NOT_MADE",
                    f"The file is stored as {upload.name}, but its task was not created within {timeout_s:.0f} s. "
                    "It will be created as soon as the processor responds; check again with `classifeed task list`.",
                )
            time.sleep(_POLL_S)
            # Wait for a service that restarts or does not respond: the file is stored, so its task will be created.
            with suppress(Unreachable, DeadlineExceeded):
                upload = self.get_upload(upload.name)
        return upload.task
