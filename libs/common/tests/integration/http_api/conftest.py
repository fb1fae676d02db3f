"""A service with a small HTTP API, served by a real server on the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY
from pydantic import BaseModel

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.http.api.callers import CallerCheck, TokenHeader
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.openapi import ApiDescription, document_operation
from classifeed_common.http.api.operations import ApiRequest, Operation
from classifeed_common.http.api.routes import operation_routes
from classifeed_common.runner import Role, ServiceRunner
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.rpc import settings_for

AUDIENCE = "receiver"  # any service that the fixture of keys knows
CALLER, STRANGER = "offers", "api"
HEADER = TokenHeader("X-Service-Ticket")
MAX_BYTES, MAX_DEPTH = 1000, 8
_SERVICE = "test.v1.NoteService"


class Note(BaseModel):
    """The body of the put."""

    text: str
    more: Any = None


class Stored(BaseModel):
    """The result of the put."""

    by: str
    count: int


@dataclass
class Notes:
    """The dependency of the operations: the stored notes, and who stored them."""

    stored: list[Note] = field(default_factory=list)


async def put_note(notes: Notes, request: ApiRequest) -> Stored:
    """Store a note."""
    notes.stored.append(request.body)
    return Stored(by=request.by, count=len(notes.stored))


PUT_NOTE = Operation(
    "POST", "/v1/notes", "Store a note", put_note, Stored, rpc="PutNote", body=Note, max_body_bytes=MAX_BYTES,
    max_json_depth=MAX_DEPTH,
)  # fmt: skip


@dataclass
class Served:
    """The served API."""

    notes: Notes
    http: httpx.AsyncClient
    runner: ServiceRunner
    stop: asyncio.Event

    async def put(self, token: str | None = None, **options: Any) -> httpx.Response:
        headers = {"content-type": "application/json", **options.pop("headers", {})}
        if token is not None:
            headers[HEADER.name] = token
        options = options or {"json": {"text": "x"}}
        return await self.http.post("/v1/notes", headers=headers, **options)


Serve = Callable[..., Any]


@pytest.fixture
def serve(keys: KeyStore) -> Serve:
    """Serve the API: `async with serve(limits=…, takes_anonymous=…) as served`."""

    @asynccontextmanager
    async def serving(
        *, on_start: Any = None, role: Any = None, has_keys: bool = True, **options: Any
    ) -> AsyncIterator[Served]:
        notes = Notes()
        callers = CallerCheck(
            keys=keys if has_keys else None,
            policy=Policy({f"/{_SERVICE}/PutNote": frozenset({CALLER})}),
            grpc_service=_SERVICE,
            audience=AUDIENCE,
            header=HEADER,
            **options,
        )
        middleware = ApiMiddleware("notes", "classifeed_test", notes, callers=callers)
        document = document_operation([PUT_NOTE], ApiDescription("Notes", "1", ""), callers, rpc="PutNote")
        runner = ServiceRunner(
            settings_for(AUDIENCE).model_copy(update={"drain_notice_s": 0.0, "drain_grace_s": 60}),
            AUDIENCE,
            "1",
            routes=operation_routes([PUT_NOTE, document], middleware),
            roles=[Role("work", role)] if role is not None else [],
            policy=Policy({}),
            keys=keys,
            **({"on_start": on_start} if on_start is not None else {}),
        )
        stop = asyncio.Event()
        task = asyncio.create_task(runner.run(stop))
        try:
            async with asyncio.timeout(60):
                while not (runner.http_address if on_start is not None else runner.is_ready):
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.01)
            base_url = f"http://{runner.http_address}"
            async with loopback_client(base_url) as client:
                yield Served(notes, client, runner, stop)
        finally:
            stop.set()
            assert await task == 0

    return serving


def refusals(reason: str, api: str = "notes") -> float:
    """Return the number of requests that were refused for a reason."""
    return REGISTRY.get_sample_value("classifeed_http_refusals_total", {"api": api, "reason": reason}) or 0.0


def assert_problem(response: httpx.Response, status: int, reason: str) -> None:
    """Assert that a response is a problem document."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json"), (
        response.text
    )
    problem = response.json()
    assert (problem["status"], problem["reason"], problem["instance"]) == (status, reason, "/v1/notes")
    assert problem["detail"]
