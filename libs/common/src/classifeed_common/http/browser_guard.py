"""Refusal of requests from web pages: for a foreign host, from a foreign origin, or without a JSON body.

Any page in a browser on the same machine or network can reach the user's ports. The browser's headers are reliable,
though. Scripts cannot set `Origin` and `Sec-Fetch-Site`. A page whose name was pointed at our address (DNS rebinding)
still sends that name as `Host`. A cross-origin request with a JSON body first asks for permission, which no route
grants (ADR 0045).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from classifeed_common.errors import DomainError, InvalidArgument, PermissionDenied
from classifeed_common.http.problems import problem_of
from classifeed_common.http.public import PublicRoute
from classifeed_common.http.uploads import UploadRoute
from classifeed_common.telemetry.metrics import HTTP_REFUSALS

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_FORMS: Final = frozenset({"text/plain", "application/x-www-form-urlencoded"})
_OWN_SITES: Final = frozenset({"same-origin", "none"})
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_SHOWN: Final = 100
_API: Final = "pages"
_log = structlog.get_logger("http")


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Allowed values of the header `Host`.

    On the loopback: loopback addresses, `localhost` and the names. Elsewhere also any IP address: probes and scrapers
    of a cluster use the pod's address, which is not known in advance, and a rebound page always has a name.

    Attributes:
        is_loopback: whether the server can be reached from this machine only.
        names: further names of the server, in lower case, without ports.
        setting: variable that adds names, for the message of a refusal.
    """

    is_loopback: bool = True
    names: frozenset[str] = field(default_factory=frozenset)
    setting: str = ""

    @classmethod
    def of(cls, names: Iterable[str], *, is_loopback: bool, setting: str) -> AllowedHosts:
        """Return the allowed hosts; names may have any case and blanks around them."""
        return cls(is_loopback, frozenset(name.strip().lower() for name in names if name.strip()), setting)

    def allow(self, host: str) -> bool:
        """Return whether requests may name this host; IPv6 addresses are in brackets."""
        if host.removesuffix(".") in self.names | {"localhost"}:
            return True
        try:
            address = ipaddress.ip_address(host.strip("[]"))
        except ValueError:
            return False
        return address.is_loopback or not self.is_loopback


class BrowserGuard:
    """ASGI middleware around all routes; a refused request reaches none of them.

    Args:
        app: guarded application.
        hosts: hosts that requests may name.
        routes: all routes of the application. An `UploadRoute` accepts bodies other than JSON, and pages of other
            origins may show a `PublicRoute`.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: AllowedHosts,
        routes: Sequence[BaseRoute] = (),
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._routes = routes
        self._uploads = [route for route in routes if isinstance(route, UploadRoute)]
        self._public = [route for route in routes if isinstance(route, PublicRoute)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or respond with a problem document: 403 or 415."""
        if scope["type"] == "http":
            try:
                self._check(scope, Headers(scope=scope))
            except DomainError as error:
                _log.warning("http.request.refused", reason=error.reason, method=scope["method"], path=scope["path"])
                HTTP_REFUSALS.labels(_API, error.reason).inc()
                await problem_of(error, instance=scope["path"])(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        authority = self._check_host(headers)
        is_safe = scope["method"] in _SAFE
        if is_safe and _is_one_of(self._public, scope):
            return
        if any(not self._is_own(origin, authority) for origin in headers.getlist("origin")):
            raise _foreign_origin(headers["origin"])
        site = headers.get("sec-fetch-site", "none")
        # A link on another page may be followed: that page cannot read the response.
        is_navigation = is_safe and headers.get("sec-fetch-mode") == "navigate"
        if site not in _OWN_SITES and not is_navigation:
            raise _foreign_origin(site)
        if is_safe or all(route.matches(scope)[0] is Match.NONE for route in self._routes):
            return  # an unknown path gets 404 for any request
        if not _is_one_of(self._uploads, scope):
            _check_json(headers)
        elif not _has_file(headers):
            raise _no_file(headers)

    def _check_host(self, headers: Headers) -> str:
        """Return the header `Host` in lower case.

        Raises:
            PermissionDenied: HOST_NOT_ALLOWED.
        """
        given = [value.lower() for value in headers.getlist("host")]
        if len(given) == 1 and (match := _AUTHORITY.fullmatch(given[0])) and self._hosts.allow(match["host"]):
            return given[0]
        shown = ", ".join(given)[:_SHOWN] or "none"
        more = f" Add the name to {self._hosts.setting} if it is one of this service." if self._hosts.setting else ""
        raise PermissionDenied(
            "HOST_NOT_ALLOWED",
            f"Requests for the host {shown!r} are not served here. Use the address of this service.{more}",
        )

    def _is_own(self, origin: str, authority: str) -> bool:
        scheme, _, rest = origin.lower().partition("://")
        if scheme not in {"http", "https"}:
            return False
        match = _AUTHORITY.fullmatch(rest)
        return rest == authority or (match is not None and match["host"] in self._hosts.names)


def _is_one_of(routes: Sequence[BaseRoute], scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


def _has_file(headers: Headers) -> bool:
    """Return whether the body can be a file or a form with one; pages can send other forms without permission."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() not in _OTHER_FORMS


def _check_json(headers: Headers) -> None:
    """Return for a JSON body, and for no body at all.

    A request without a body needs no type: the checks above refuse those of pages. A form always has a type, also from
    old browsers, which send it without `Origin`.
    """
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    given = headers.get("content-type")
    if given is None and not has_body:
        return
    if (given or "").partition(";")[0].strip().lower() != "application/json":
        shown = repr(given[:_SHOWN]) if given is not None else "none"
        raise InvalidArgument(
            "CONTENT_TYPE_NOT_JSON",
            f"The content type is {shown}. Send JSON, with the header `Content-Type: application/json`.",
        )


def _no_file(headers: Headers) -> InvalidArgument:
    shown = headers["content-type"][:_SHOWN]
    return InvalidArgument(
        "CONTENT_TYPE_NOT_JSON",
        f"The content type is {shown!r}, which web pages send without permission. Send the file with the header "
        "`Content-Type: application/octet-stream`, or the type of the file.",
    )


def _foreign_origin(shown: str) -> PermissionDenied:
    return PermissionDenied(
        "ORIGIN_NOT_ALLOWED",
        f"A web page of another origin ({shown[:_SHOWN]}) sent this request. Send it from a program, or from a page of "
        "this service.",
    )
