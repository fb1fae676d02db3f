"""Client of the receivers of callbacks, over keep-alive connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Final

import httpcore

from classifeed_cleanweb.domain.protocol import END, SERVICE_TOKEN_HEADER
from classifeed_cleanweb.settings import Receiver
from classifeed_cleanweb.store.reviews import Reviewed
from classifeed_common.errors import DomainError, Unavailable

_CONNECTIONS: Final = 16
_LIMIT_S: Final = 20.0
_TIMEOUTS: Final = {"connect": 5.0, "read": 15.0, "write": 15.0, "pool": 15.0}


class Receivers:
    """Sends callbacks.

    Args:
        receivers: receivers by `<service>/<environment>`.
        issue_token: returns the token for an audience; None: callbacks carry none.
    """

    def __init__(self, receivers: Mapping[str, Receiver], issue_token: Callable[[str], str] | None) -> None:
        self._receivers = receivers
        self._issue_token = issue_token
        self._pool = httpcore.AsyncConnectionPool(max_connections=_CONNECTIONS, keepalive_expiry=60.0)

    def knows(self, service: str, environment: str) -> bool:
        """Return whether callbacks of a service and environment have a receiver."""
        return f"{service}/{environment}" in self._receivers

    async def send(self, service: str, environment: str, key: str, reviewed: Reviewed, *, request_id: str) -> None:
        """Deliver verdicts, including the end verdict.

        Raises:
            Unavailable: the receiver is not configured, is unreachable, or did not accept them.
        """
        receiver = self._receivers.get(f"{service}/{environment}")
        if receiver is None:
            raise Unavailable("CALLBACK_FAILED", f"No receiver is configured for {service}/{environment}.")
        headers = [(b"Content-Type", b"application/json"), (b"X-Request-Id", request_id.encode())]
        try:
            if self._issue_token is not None:
                headers.append((SERVICE_TOKEN_HEADER.encode(), self._issue_token(receiver.audience).encode()))
            async with asyncio.timeout(_LIMIT_S):
                response = await self._pool.request(
                    "POST",
                    receiver.url,
                    headers=headers,
                    content=callback_body(key, reviewed),
                    extensions={"timeout": _TIMEOUTS},
                )
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, TimeoutError) as error:
            raise Unavailable("CALLBACK_FAILED", f"{receiver.url}: {type(error).__name__}") from error
        except DomainError as error:
            raise Unavailable("CALLBACK_FAILED", str(error)) from error
        if response.status != 200:
            raise Unavailable("CALLBACK_FAILED", f"{receiver.url}: HTTP {response.status}")

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


def callback_body(key: str, reviewed: Reviewed) -> bytes:
    """Return the bytes of a callback."""
    people = {"value": True, "entity": "text", "source": "people", "reviewers": reviewed.reviewers, "key": key}
    items = [{"name": name, **people} for name in (*reviewed.verdicts, END)]
    return json.dumps({"verdicts": items}, ensure_ascii=False, separators=(",", ":")).encode()
