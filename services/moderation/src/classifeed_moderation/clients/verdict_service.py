"""The verdict service: one request for each text, over connections that are kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

import httpcore

from classifeed_common.errors import DomainError
from classifeed_moderation.clients.connections import Connections, ResponseTooLargeError
from classifeed_moderation.domain.subjects import Task
from classifeed_moderation.domain.verdicts import VerdictList, VerdictsInvalidError, parse_verdicts

TOKEN_HEADER: Final = "X-Ya-Service-Ticket"  # noqa: S105 - the name of a header
_PATH: Final = "/v2/"
_ID: Final = 1
_RESPONSE_LIMIT_BYTES: Final = 1024 * 1024
_PEOPLE: Final = frozenset({"clean-web", "clean_web"})
_TIMEOUT: Final = "timeout"
_OVERHEAD_S: Final = 1.0
_EMPTY: Final = VerdictList()


class Outcome(StrEnum):
    """How a request ended."""

    VERDICTS = "verdicts"
    PEOPLE = "people"
    UNREACHABLE = "unreachable"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Response:
    """What came of a request: an outcome, its verdicts, or what was wrong."""

    outcome: Outcome
    verdict_list: VerdictList = _EMPTY
    fault: str = ""


class VerdictService(Protocol):
    """Judges texts."""

    async def request(self, task: Task) -> Response:
        """Have a text judged; never raises for what the other side does."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...


class HttpVerdictService:
    """The verdict service over HTTP.

    Args:
        url: its address, without a path.
        service: who we are to it.
        environment: stable or testing.
        connect_s: limit of making a connection.
        answer_s: limit of a response.
        issue_token: makes the token of a request; None: requests carry none.
    """

    def __init__(
        self,
        url: str,
        *,
        service: str,
        environment: str,
        connect_s: float,
        answer_s: float,
        issue_token: Callable[[], str] | None = None,
    ) -> None:
        self._service = service
        self._environment = environment
        self._connections = Connections(url + _PATH, limit_bytes=_RESPONSE_LIMIT_BYTES)
        self._timeouts = {"connect": connect_s, "read": answer_s, "write": answer_s}
        self._limit_s = connect_s + answer_s + _OVERHEAD_S
        self._issue_token = issue_token

    async def request(self, task: Task) -> Response:
        """Have a text judged; see `VerdictService`."""
        headers = [(b"Content-Type", b"application/json")]
        body = request_body(task, service=self._service, environment=self._environment)
        try:
            if self._issue_token is not None:
                headers.append((TOKEN_HEADER.encode(), self._issue_token().encode()))
            async with asyncio.timeout(self._limit_s):
                status, content = await self._connections.post(headers, body, timeouts=self._timeouts)
        except (httpcore.NetworkError, httpcore.TimeoutException, TimeoutError) as error:
            return Response(Outcome.UNREACHABLE, fault=type(error).__name__)
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol, ResponseTooLargeError, DomainError) as error:
            return Response(Outcome.FAULT, fault=f"{type(error).__name__}: {error}"[:200])
        if status != 200:
            return Response(Outcome.FAULT, fault=f"HTTP {status}")
        return read_response(content)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()


def request_body(task: Task, *, service: str, environment: str) -> bytes:
    """Return the bytes of a request about a text."""
    return json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "process",
            "params": {
                "service": service,
                "type": "text",
                "key": task.sent_key,
                "body": {"text": task.text, "environment": environment, "regions": list(task.region_ids)},
            },
            "id": _ID,
        },
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode()


def read_response(content: bytes) -> Response:
    """Return what a response says; one that cannot be read is a fault."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return Response(Outcome.FAULT, fault="no JSON")
    if not isinstance(found, dict):
        return Response(Outcome.FAULT, fault="no object")
    if found.get("id") != _ID or isinstance(found.get("id"), bool):
        return Response(Outcome.FAULT, fault="another id")
    if found.get("error") is not None:
        return Response(Outcome.FAULT, fault=f"error {str(found['error'])[:100]}")
    result = found.get("result")
    if not isinstance(result, dict):
        return Response(Outcome.FAULT, fault="no result")
    if errors := result.get("errors"):
        return _read_errors(errors)
    try:
        verdict_list = parse_verdicts(result.get("verdicts"))
    except VerdictsInvalidError as error:
        return Response(Outcome.FAULT, fault=str(error))
    return Response(Outcome.PEOPLE if verdict_list.is_empty else Outcome.VERDICTS, verdict_list)


def _read_errors(errors: Any) -> Response:
    if isinstance(errors, dict) and set(errors) <= _PEOPLE and set(map(str, errors.values())) == {_TIMEOUT}:
        return Response(Outcome.PEOPLE)
    return Response(Outcome.FAULT, fault=f"errors {str(errors)[:100]}")
