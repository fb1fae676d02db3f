"""Calls about files that are handed in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from classifeed.feeds.v1 import feed_service_pb2
from classifeed_client.connection import Connection
from classifeed_client.errors import DeadlineExceeded, Unreachable
from classifeed_client.names import DEFAULT_NAMESPACE, feed_name

# Small enough that a slow line brings one within the time after which a silent upload is ended.
_CHUNK_BYTES = 64 * 1024
_POLL_S = 0.1


class UploadCalls(Connection):
    """Hands in files."""

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
        timeout_s: float = 600.0,
        on_sent: Callable[[int], None] | None = None,
    ) -> feed_service_pb2.Upload:
        """Hands in a file and returns the upload; `on_sent` is told the bytes sent so far.

        Raises:
            OSError: the file cannot be read.
            ApiError: the call did not succeed.
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
            size_bytes=file.stat().st_size,
        )
        with file.open("rb") as source:
            pieces = _pieces(spec, source, on_sent)
            return self._call(self._feeds.UploadFeed, pieces, feed_service_pb2.Upload, timeout_s)

    def get_upload(self, name: str) -> feed_service_pb2.Upload:
        """Returns an upload by its resource name."""
        return self._call(self._feeds.GetUpload, feed_service_pb2.GetUploadRequest(name=name), feed_service_pb2.Upload)

    def wait_for_task(self, upload: feed_service_pb2.Upload, *, timeout_s: float) -> str:
        """Returns the resource name of the task that loads an upload, as soon as it is made.

        Raises:
            DeadlineExceeded: it was not made in time; it will be, as the upload is stored.
        """
        ends_at = time.monotonic() + timeout_s
        while not upload.task:
            if time.monotonic() > ends_at:
                raise DeadlineExceeded(
                    "TASK_NOT_MADE",
                    f"The file is stored as {upload.name}, but its task was not made within {timeout_s:.0f} s. "
                    "It will be made as soon as the processor answers; look again with `classifeed task list`.",
                )
            time.sleep(_POLL_S)
            # A service that restarts, or is silent, is waited for: the file is stored, so its task will come.
            with suppress(Unreachable, DeadlineExceeded):
                upload = self.get_upload(upload.name)
        return upload.task


def _pieces(
    spec: feed_service_pb2.UploadSpec, source: Any, on_sent: Callable[[int], None] | None
) -> Iterator[feed_service_pb2.UploadFeedRequest]:
    yield feed_service_pb2.UploadFeedRequest(spec=spec)
    sent = 0
    while chunk := source.read(_CHUNK_BYTES):
        yield feed_service_pb2.UploadFeedRequest(chunk=chunk)
        sent += len(chunk)
        if on_sent:
            on_sent(sent)
