"""The HTTP application of every service: health, metrics, backlog, and the service's routes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from classifeed_common.errors import DomainError, Unavailable
from classifeed_common.http.backlog import Backlog, BacklogSource
from classifeed_common.http.browser_guard import AllowedHosts, BrowserGuard
from classifeed_common.http.paths import PathGuard
from classifeed_common.http.problems import Problems, handle_error, handle_http_error
from classifeed_common.http.receiving import BodiesWithinBudget
from classifeed_common.http.sending import ResponseBudget, SentInPieces
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.metrics import ROLE_BLOCKED

_log = structlog.get_logger("http")


class State(Protocol):
    """The state of the runner, for health endpoints."""

    def describe(self) -> dict[str, object]:
        """Return name, version, roles, the state of each dependency, and the blocked items of roles."""

    @property
    def blocked(self) -> Mapping[str, Mapping[str, str]]:
        """Blocked items and the reasons, by role."""

    @property
    def is_ready(self) -> bool:
        """Whether the service accepts traffic."""

    @property
    def refusal(self) -> DomainError | None:
        """Reason why the service's routes are closed now: it is starting or draining. None: they are open."""


def build_app(
    state: State, backlogs: Mapping[str, BacklogSource], routes: Sequence[BaseRoute] = (), *, hosts: AllowedHosts
) -> Starlette:
    """Return the application, with the guard against web pages around all routes.

    Args:
        state: state of the runner, read at each request.
        backlogs: counters of waiting work, by role.
        routes: routes of the service; they take precedence over the standard ones. A route that needs the service's
            dependencies begins with `require_open`.
        hosts: hosts that requests may name.
    """

    counted = Backlog(backlogs)
    shown: set[str] = set()

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "live"})

    async def ready(_: Request) -> Response:
        return JSONResponse(state.describe(), status_code=200 if state.is_ready else 503)

    async def metrics(_: Request) -> Response:
        try:
            await counted.count()
        except Unavailable as error:  # a scrape without backlog is better than none
            log_fault(_log, "http.backlog.uncounted", error)
        blocked = state.blocked
        for role, items in blocked.items():
            ROLE_BLOCKED.labels(role).set(len(items))
        for role in shown - blocked.keys():
            ROLE_BLOCKED.remove(role)
        shown.clear()
        shown.update(blocked)
        # Thousands of series take longer than the timeout of a probe.
        content = await asyncio.to_thread(generate_latest)
        return Response(content, media_type=CONTENT_TYPE_LATEST)

    async def backlog(_: Request) -> Response:
        items = await counted.count()
        return JSONResponse({"items": items, "total": sum(items.values())})

    served = [
        *routes,
        Route("/health", ready),
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/metrics", metrics),
        Route("/backlog", backlog),
    ]
    app = Starlette(
        routes=served,
        exception_handlers={HTTPException: handle_http_error, DomainError: handle_error},
        # Not as a handler of Exception: Starlette would still raise the error after the response, and each request of a
        # service without its database would leave a traceback in the log.
        middleware=[
            Middleware(PathGuard, served),
            Middleware(BrowserGuard, hosts, served),
            Middleware(Problems),
            Middleware(SentInPieces, ResponseBudget()),
            Middleware(BodiesWithinBudget),
        ],
    )
    app.state.service = state
    return app


def require_open(request: Request) -> None:
    """Return if the service accepts requests.

    Raises:
        Unavailable: STARTING or DRAINING.
    """
    state: State = request.app.state.service
    if state.refusal is not None:
        raise state.refusal
