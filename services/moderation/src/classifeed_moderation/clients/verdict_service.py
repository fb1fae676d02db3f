"""Client of the verdict service: requests for one text, or a batch of several, over keep-alive connections."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
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
_FIRST_ID: Final = 1
_METHOD_NOT_FOUND: Final = -32601
_RESPONSE_LIMIT_BYTES: Final = 4 * 1024 * 1024
_PEOPLE: Final = frozenset({"clean-web", "clean_web"})
_TIMEOUT: Final = "timeout"
_SHOWN_ERRORS: Final = 3
_CODE: Final = re.compile(r"[A-Za-z_-]{1,40}", re.ASCII)
_OVERHEAD_S: Final = 1.0
_EMPTY: Final = VerdictList()


class Outcome(StrEnum):
    """Outcome of a request."""

    VERDICTS = "verdicts"
    PEOPLE = "people"
    UNREACHABLE = "unreachable"
    FAULT = "fault"


class CloseOutcome(StrEnum):
    """Outcome of a call that closes reviews."""

    CLOSED = "closed"
    UNKNOWN = "unknown"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Response:
    """Outcome of a request, with its verdicts or its fault."""

    outcome: Outcome
    verdict_list: VerdictList = _EMPTY
    fault: str = ""


class VerdictService(Protocol):
    """Judges texts."""

    async def request(self, tasks: Sequence[Task]) -> list[Response]:
        """Request verdicts, and return a response for each text; never raises for faults of the service."""
        ...

    async def close_reviews(self, sent_keys: Sequence[str]) -> tuple[CloseOutcome, str]:
        """Close the reviews of keys without a callback; return the outcome, and why. UNKNOWN: there is no such method.

        Never raises for faults of the service.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class HttpVerdictService:
    """The verdict service over HTTP.

    Args:
        url: address of the service, without a path.
        service: name of this service at the verdict service.
        environment: stable or testing.
        connect_s: timeout of a connection, in seconds.
        answer_s: timeout of a response, in seconds.
        issue_token: returns the token of a request; None: requests carry none.
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

    async def request(self, tasks: Sequence[Task]) -> list[Response]:
        """Request verdicts; see `VerdictService`."""
        found = await self._post(request_body(tasks, service=self._service, environment=self._environment))
        if isinstance(found, Response):
            return [found] * len(tasks)
        return parse_responses(found, len(tasks))

    async def close_reviews(self, sent_keys: Sequence[str]) -> tuple[CloseOutcome, str]:
        """Close reviews; see `VerdictService`."""
        found = await self._post(
            _encode("close", self._service, [(key, {"environment": self._environment}) for key in sent_keys])
        )
        if isinstance(found, Response):
            return CloseOutcome.FAILED, found.fault
        return parse_closed(found, len(sent_keys))

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    async def _post(self, body: bytes) -> bytes | Response:
        """Return the content of the response, or the outcome of a request without content."""
        headers = [(b"Content-Type", b"application/json")]
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
        return content


def request_body(tasks: Sequence[Task], *, service: str, environment: str) -> bytes:
    """Return the bytes of a request about texts: an object for one text, an array for several."""
    bodies = [
        (
            task.sent_key,
            {
                "text": task.text,
                "environment": environment,
                "regions": list(task.region_ids),
                **({"dry_run": True} if task.is_check else {}),
            },
        )
        for task in tasks
    ]
    return _encode("process", service, bodies)


def _encode(method: str, service: str, bodies: Sequence[tuple[str, dict[str, Any]]]) -> bytes:
    """Return the bytes of calls about keys: an object for one key, an array for several."""
    calls = [
        {
            "jsonrpc": "2.0",
            "method": method,
            "params": {"service": service, "type": "text", "key": key, "body": body},
            "id": number,
        }
        for number, (key, body) in enumerate(bodies, start=_FIRST_ID)
    ]
    return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False, separators=(",", ":")).encode()


def parse_closed(content: bytes, count: int) -> tuple[CloseOutcome, str]:
    """Return the outcome of a call that closes `count` reviews: CLOSED only if each key has a result."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return CloseOutcome.FAILED, "no JSON"
    items = [item for item in (found if isinstance(found, list) else [found]) if isinstance(item, dict)]
    errors = [item["error"] for item in items if item.get("error") is not None]
    if errors:
        code = _code_of(errors[0])
        outcome = CloseOutcome.UNKNOWN if code == _METHOD_NOT_FOUND else CloseOutcome.FAILED
        return outcome, f"error {_word(code)}"
    closed = {item.get("id") for item in items if isinstance(item.get("result"), dict)}
    if closed >= set(range(_FIRST_ID, _FIRST_ID + count)):
        return CloseOutcome.CLOSED, ""
    return CloseOutcome.FAILED, "no result"


def parse_responses(content: bytes, count: int) -> list[Response]:
    """Return the response for each of `count` texts; a missing or unreadable response is a fault."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return [Response(Outcome.FAULT, fault="no JSON")] * count
    is_batch = count > 1 and isinstance(found, list)
    by_id: dict[int, Response] = {}
    for item in found if is_batch else [found]:
        if not isinstance(item, dict):
            return [Response(Outcome.FAULT, fault="no object")] * count
        number = item.get("id")
        if type(number) is int and (is_batch or count == 1):
            by_id.setdefault(number, _response_of(item))
    missing = Response(Outcome.FAULT, fault="another id" if is_batch or count == 1 else "no batch")
    return [by_id.get(number, missing) for number in range(_FIRST_ID, _FIRST_ID + count)]


def _response_of(found: dict[str, Any]) -> Response:
    if found.get("error") is not None:
        return Response(Outcome.FAULT, fault=f"error {_word(_code_of(found['error']))}")
    result = found.get("result")
    if not isinstance(result, dict):
        return Response(Outcome.FAULT, fault="no result")
    if errors := result.get("errors"):
        return _response_to(errors)
    try:
        verdict_list = parse_verdicts(result.get("verdicts"))
    except VerdictsInvalidError as error:
        return Response(Outcome.FAULT, fault=str(error))
    return Response(Outcome.PEOPLE if verdict_list.is_empty else Outcome.VERDICTS, verdict_list)


def _response_to(errors: Any) -> Response:
    if isinstance(errors, dict) and set(errors) <= _PEOPLE and set(map(str, errors.values())) == {_TIMEOUT}:
        return Response(Outcome.PEOPLE)
    named = errors.items() if isinstance(errors, dict) else ()
    words = ", ".join(f"{_word(name)}: {_word(value)}" for name, value in list(named)[:_SHOWN_ERRORS])
    return Response(Outcome.FAULT, fault=f"errors {words or _word(errors)}")


def _code_of(error: Any) -> Any:
    return error.get("code") if isinstance(error, dict) else error


def _word(found: Any) -> str:
    """Return a number or a code unchanged, and the type of anything else: it might quote the text into the log."""
    is_code = isinstance(found, int) or (isinstance(found, str) and _CODE.fullmatch(found) is not None)
    return str(found) if is_code else type(found).__name__
