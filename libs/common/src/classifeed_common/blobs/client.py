"""A client of S3 on threads of its own."""

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
"""Codes of errors that say that there is no such object."""


class ReadCancelled(Exception):
    """Nobody waits for what is being read."""


class S3Client:
    """A client and threads of its own: a server that is silent keeps nobody waiting who does not need it.

    Args:
        endpoint: http(s)://host:port.
        access_key: who we are.
        secret_key: proof of it.
        threads: requests at a time.
        retries: of a request that failed.
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
        """Return what `work` returns; a cancelled call goes on in its thread.

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
        """Return what `work` returns; it calls what it gets beside the client after each chunk, which ends it once this
        call was cancelled.

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
        """Close the connections; calls under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._http.clear()
