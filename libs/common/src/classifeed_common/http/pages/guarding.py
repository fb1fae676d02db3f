"""PageGuard: shows pages to signed-in people, and the sign-in form to others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import uuid4

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.errors import DomainError, NotFound, PermissionDenied, Unauthenticated
from classifeed_common.http.api.bodies import Body
from classifeed_common.http.api.callers import CallerCheck
from classifeed_common.http.api.checking import checked
from classifeed_common.http.api.request_limits import RequestLimits, RequestRate
from classifeed_common.http.app import require_open
from classifeed_common.http.pages.sessions import Session, SignIn
from classifeed_common.http.pages.templates import Templates
from classifeed_common.http.problems import problem_of
from classifeed_common.rpc.call import enter_call
from classifeed_common.rpc.faults import explain
from classifeed_common.rpc.own_names import person_name
from classifeed_common.telemetry.metrics import HTTP_REFUSALS

_MAX_TOKEN_BYTES: Final = 16 << 10
# A person does not reach this rate; a held-down key does.
_RATE: Final = RequestRate(per_s=20, burst=60)
_log = structlog.get_logger("pages")
_Show = Callable[[Request, str], Awaitable[Response]]


def page_callers(
    session: Session, *, keys: KeyStore | None, policy: Policy, grpc_service: str, audience: str
) -> CallerCheck:
    """Return a check of people by the token in the cookie, with a rate limit for people.

    Args:
        session: session with the cookie.
        keys: keys that verify tokens.
        policy: policy of callers.
        grpc_service: full name of the service whose RPCs tokens must allow.
        audience: audience that tokens must name.
    """
    return CallerCheck(
        keys=keys,
        policy=policy,
        grpc_service=grpc_service,
        audience=audience,
        header=session.token,
        limits=RequestLimits(per_caller=_RATE),
    )


class PageGuard:
    """Guards the pages of one API: checks, error pages, sign-in and sign-out.

    Args:
        api: name of the pages, in metrics and logs.
        templates: templates of the pages.
        session: session with the cookie.
        callers: check of the token in the cookie.
        shows: RPC that a token must allow to see a page.
        further: RPCs that a token must also allow to sign in.
    """

    def __init__(
        self,
        api: str,
        templates: Templates,
        session: Session,
        callers: CallerCheck,
        *,
        shows: str,
        further: Sequence[str] = (),
    ) -> None:
        self._api = api
        self._templates = templates
        self._session = session
        self._callers = callers
        self._shows = shows
        self._further = further

    def guarded(self, show: _Show) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that shows a page to signed-in people, the form to others, and errors as pages."""

        async def respond(request: Request) -> Response:
            try:
                who = self._admit(request)
                require_open(request)
                return await show(request, who)
            except Exception as error:  # noqa: BLE001 - explained, and shown as a page
                return self._refusal(request, explain(error, f"{request.method} {request.url.path}"))

        return respond

    def routes(self, path: str) -> list[Route]:
        """Return the routes for signing in and out, and for static files."""
        return [
            Route(f"{path}/sign-in", self.sign_in, methods=["POST"]),
            Route(f"{path}/sign-out", self.sign_out, methods=["POST"]),
            Route(f"{path}/static/{{name:name}}", self.static),
        ]

    async def sign_in(self, request: Request) -> Response:
        """Store a token that is valid for the pages in the cookie.

        Raises:
            Unauthenticated: it is no token, or none for this service.
            PermissionDenied: it is for other methods.
        """
        given = checked(SignIn, await Body(request, _MAX_TOKEN_BYTES).read())
        client = _client(request)
        try:
            headers = self._session.headers_of(given)
            who = self._callers.admit(self._shows, headers, client)
            for rpc in self._further:
                self._callers.admit(rpc, headers, client)
        except DomainError as error:
            HTTP_REFUSALS.labels(self._api, error.reason).inc()
            return problem_of(error, instance=request.url.path)
        _log.info("pages.person.signed_in", api=self._api, who=who, client=client)
        response = Response(status_code=204)
        self._session.remember(response, request, given)
        return response

    async def sign_out(self, request: Request) -> Response:
        """Remove the cookie."""
        response = Response(status_code=204)
        self._session.forget(response, request)
        return response

    async def static(self, request: Request) -> Response:
        """Return a static file of the pages; everybody may read it.

        Raises:
            NotFound: there is no such file.
        """
        found = self._templates.static_file(request.path_params["name"])
        if found is None:
            raise page_not_found(request)
        return found

    def _admit(self, request: Request) -> str:
        caller = self._callers.admit(self._shows, request.headers, _client(request))
        enter_call(request.url.path, caller=caller, request_id=uuid4().hex, time_left_s=None)
        return person_name(caller)

    def _refusal(self, request: Request, error: DomainError) -> Response:
        HTTP_REFUSALS.labels(self._api, error.reason).inc()
        status = problem_of(error, instance=request.url.path).status_code
        if not isinstance(error, Unauthenticated | PermissionDenied):
            return self._templates.fault(error.message, error.reason, status=status)
        message = error.message if self._session.token.cookie in request.cookies else ""
        response = self._templates.sign_in(message, status=status)
        if message:
            self._session.forget(response, request)
        return response


def page_not_found(request: Request) -> NotFound:
    """Return the error for a missing page."""
    return NotFound("PAGE_NOT_FOUND", f"There is no page {request.url.path}.")


def _client(request: Request) -> str:
    return request.client.host if request.client is not None else "-"
