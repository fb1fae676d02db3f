"""The HTTP client of BlobStore: gives up on a server that stops responding at any point of a request."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Self

import urllib3
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import ProtocolError, ReadTimeoutError
from urllib3.response import BaseHTTPResponse

CONNECT_S: Final = 5.0
"""Timeout for a connection, and for sending the body of a request (a part has 5 MiB)."""
SILENCE_S: Final = 8.0
"""Timeout for the first byte of a response, and between two chunks. A silent server costs a put two timeouts: the
failed part, and the abort of its upload."""
COMPLETE_S: Final = 60.0
"""Timeout for the completion of a multipart upload and for a copy inside the store: their work grows with the file. A
timeout loses nothing: the next attempt finds the file, or starts again."""


class _Retry(urllib3.Retry):
    """Retries refused requests and requests on a connection that the server had closed, but not timeouts.

    Callers retry after timeouts themselves: their pauses must not occupy a thread that others wait for.
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
    """The HTTP client that `minio.Minio` uses.

    Args:
        connections: number of kept connections, one per thread.
        retries: largest number of retries of a request.
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
