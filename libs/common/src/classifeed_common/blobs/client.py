"""S3Client: an S3 client with its own threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, TypeVar
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import InvalidResponseError, S3Error, ServerError

from classifeed_common.blobs.http_client import HttpClient
from classifeed_common.errors import Unavailable

R = TypeVar("R")
MISSING: Final = frozenset({"NoSuchKey", "NoSuchObject", "NoSuchBucket"})
"""Error codes of a missing object."""


class ReadCancelled(Exception):
    """The caller has cancelled the read."""


class S3Client:
    """An S3 client with its own threads: a silent server delays only callers of this client.

    Args:
        endpoint: http(s)://host:port.
        access_key: S3 access key.
        secret_key: S3 secret key.
        threads: largest number of concurrent requests.
        retries: retries of a failed request.
    """

    def __init__(self, endpoint: str, access_key: str, secret_key: str, *, threads: int, retries: int) -> None:
        parts = urlsplit(endpoint)
        self._http = HttpClient(connections=threads, retries=retries)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="s3")
        self._minio = Minio(
            parts.netloc,
            access_key=access_key,
            secret_key=secret_key,
            secure=parts.scheme == "https",
            region="us-east-1",
            http_client=self._http,
        )

    async def run(self, work: Callable[[Minio], R]) -> R:
        """Run `work` in a thread and return its result; after a cancellation the thread completes its call.

        Raises:
            Unavailable: the object store does not respond.
        """
        call = partial(copy_context().run, work, self._minio)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except (S3Error, urllib3.exceptions.HTTPError, ServerError, InvalidResponseError) as error:
            raise Unavailable(
                "OBJECT_STORE_UNAVAILABLE",
                f"The object store refuses the request ({error}). Try again; if it persists, check the S3 server.",
                retry_after_s=1,
            ) from error

    async def read(self, work: Callable[[Minio, Callable[[], None]], R]) -> R:
        """Run `work`, which calls its second argument after each chunk; that call raises after a cancellation.

        Raises:
            Unavailable: the object store does not respond.
        """
        is_cancelled = threading.Event()

        def check() -> None:
            if is_cancelled.is_set():
                raise ReadCancelled

        try:
            return await self.run(lambda client: work(client, check))
        except asyncio.CancelledError:
            is_cancelled.set()
            raise

    def close(self) -> None:
        """Close the connections; calls under way complete in their threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._http.clear()
