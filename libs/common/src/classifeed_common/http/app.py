"""The HTTP application of every service: health, metrics, backlog, and the service's own routes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from classifeed_common.errors import DomainError, Unavailable, name_fault
from classifeed_common.http.browser_guard import AllowedHosts, BrowserGuard
from classifeed_common.http.problems import Problems, handle_error, handle_http_error
from classifeed_common.http.public import PublicRoute
from classifeed_common.http.uploads import UploadRoute
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.metrics import BACKLOG, ROLE_BLOCKED
from classifeed_common.waiting import gather_within

BACKLOG_TIMEOUT_S = 5.0
_log = structlog.get_logger("http")

BacklogSource = Callable[[], Awaitable[Mapping[str, int]]]


class State(Protocol):
    """What the runner says about itself."""

    def describe(self) -> dict[str, object]:
        """Return name, version, roles, the state of each dependency, and what roles cannot go on with."""

    @property
    def blocked(self) -> Mapping[str, Mapping[str, str]]:
        """What roles cannot go on with, and why, by role."""

    @property
    def is_ready(self) -> bool:
        """Whether traffic may come."""

    @property
    def refusal(self) -> DomainError | None:
        """Why requests of the service's own routes cannot be taken now: it starts, or drains."""


def build_app(
    state: State, backlogs: Mapping[str, BacklogSource], routes: Sequence[BaseRoute] = (), *, hosts: AllowedHosts
) -> Starlette:
    """Return the application, all its routes behind the guard against web pages.

    Args:
        state: read at each request.
        backlogs: by role, what counts the work that waits.
        routes: what the service has besides; they win over the standard ones. One that needs what the service works
            with begins with `require_open`.
        hosts: which hosts requests may be for.
    """

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "live"})

    async def ready(_: Request) -> Response:
        return JSONResponse(state.describe(), status_code=200 if state.is_ready else 503)

    async def metrics(_: Request) -> Response:
        try:
            await count_backlog(backlogs)
        except Unavailable as error:  # a scrape without backlog is better than none
            log_fault(_log, "http.backlog.uncounted", error)
        ROLE_BLOCKED.clear()
        for role, items in state.blocked.items():
            ROLE_BLOCKED.labels(role).set(len(items))
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    async def backlog(_: Request) -> Response:
        items = await count_backlog(backlogs)
        return JSONResponse({"items": items, "total": sum(items.values())})

    uploads = [route for route in routes if isinstance(route, UploadRoute)]
    public = [route for route in routes if isinstance(route, PublicRoute)]
    app = Starlette(
        routes=[
            *routes,
            Route("/health", ready),
            Route("/health/live", live),
            Route("/health/ready", ready),
            Route("/metrics", metrics),
            Route("/backlog", backlog),
        ],
        exception_handlers={HTTPException: handle_http_error, DomainError: handle_error},
        # Not as a handler of Exception: Starlette would send the problem and raise the error all the same, and each
        # request of a service without its database would leave a traceback in the log.
        middleware=[Middleware(BrowserGuard, hosts, uploads, public), Middleware(Problems)],
    )
    app.state.service = state
    return app


def require_open(request: Request) -> None:
    """Pass while the service takes requests.

    Raises:
        Unavailable: STARTING or DRAINING.
    """
    state: State = request.app.state.service
    if state.refusal is not None:
        raise state.refusal


async def count_backlog(backlogs: Mapping[str, BacklogSource]) -> dict[str, int]:
    """Return what waits, by `<role>.<item>`, and move the gauge.

    A source that fails makes the whole count fail: an unknown backlog must never be read as none.

    Raises:
        Unavailable: BACKLOG_UNKNOWN, naming the roles whose backlog cannot be counted, and why, also in the metadata.
    """
    faults: dict[str, str] = {}
    counted = await asyncio.gather(*(_count(*each, faults) for each in backlogs.items()))
    if faults:
        words = "; ".join(f"{role}: {fault}" for role, fault in faults.items())
        raise Unavailable(
            "BACKLOG_UNKNOWN",
            f"The backlog cannot be counted ({words}). Try again; /health/ready names what is missing.",
            metadata=faults,
            retry_after_s=1,
        )
    items = {
        f"{role}.{item}": number
        for role, found in zip(backlogs, counted, strict=True)
        for item, number in found.items()
    }
    BACKLOG.clear()
    for item, number in items.items():
        BACKLOG.labels(item).set(number)
    return items


async def _count(role: str, source: BacklogSource, faults: dict[str, str]) -> Mapping[str, int]:
    """Return what one source counts; note why it cannot and return nothing."""
    try:
        return (await gather_within(BACKLOG_TIMEOUT_S, source()))[0]
    except TimeoutError:
        faults[role] = f"no response within {BACKLOG_TIMEOUT_S:g} s"
    except Exception as error:  # noqa: BLE001 - whatever it is, the count is unknown
        faults[role] = name_fault(error)
        log_fault(_log, "http.backlog.uncounted", error, role=role)
    return {}
