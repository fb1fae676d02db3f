"""The HTTP client under BlobStore: gives up on a server that falls silent, at any point of a request."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Self

import urllib3
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import ProtocolError, ReadTimeoutError
from urllib3.response import BaseHTTPResponse

CONNECT_S: Final = 5.0
"""Longest wait for a connection, and for the kernel to take the body of a request (a part: 5 MiB)."""
SILENCE_S: Final = 8.0
"""Longest wait for the first byte of a response, and between two pieces of one. A silent server costs a put two of
them: the part that fails, and the abort of its upload."""
COMPLETE_S: Final = 60.0
"""Longest wait for the end of a multipart upload and of a copy inside the store: the requests whose work grows with the
file. Nothing is lost when it is over: the next try finds the file, or begins anew."""


class _Retry(urllib3.Retry):
    """Repeats requests that were refused, or that met a connection that the server had closed, and no silent ones.

    Callers repeat those, after pauses that a thread which others wait for cannot take.
    """

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        if error is not None and _is_silence(error):
            raise error
        return super().increment(method, url, response, error, _pool, _stacktrace)


class HttpClient(urllib3.PoolManager):
    """What `minio.Minio` calls.

    Args:
        connections: how many are kept; as many as there are threads.
        retries: how often a request is tried again that may be.
    """

    def __init__(self, *, connections: int, retries: int) -> None:
        super().__init__(
            maxsize=connections,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=SILENCE_S),
            retries=_Retry(total=retries, backoff_factor=0.2, status_forcelist=[500, 502, 503, 504]),
        )

    def urlopen(  # type: ignore[override]
        self, method: str, url: str, redirect: bool = True, **options: Any
    ) -> BaseHTTPResponse:
        """Send a request; see urllib3."""
        is_copy = "x-amz-copy-source" in {name.lower() for name in options.get("headers") or ()}
        if is_copy or (method == "POST" and "uploadId=" in url):
            options["timeout"] = urllib3.Timeout(connect=CONNECT_S, read=COMPLETE_S)
        return super().urlopen(method, url, redirect, **options)


def _is_silence(error: Exception) -> bool:
    if isinstance(error, ProtocolError):
        return any(isinstance(each, TimeoutError) for each in error.args)
    return isinstance(error, ReadTimeoutError)
