"""Checks of request paths: allowed characters, length, and types of parameters, for every route."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.http.problems import problem_of
from classifeed_common.telemetry.metrics import HTTP_REFUSALS

PATH_LIMIT_CHARS: Final = 2048
"""Largest number of characters of a path after decoding."""
CONVERTORS: Final = frozenset({"number", "name", "anything"})
"""Allowed types of route parameters; Starlette's own types have no limits."""
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_API: Final = "paths"


class PathGuard:
    """ASGI middleware that refuses paths which no route can match: 400, with a problem document.

    Args:
        app: guarded application.
        routes: routes of the application; a refusal names their parameters.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute] = ()) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        error = self._fault_of(scope["path"]) if scope["type"] == "http" else None
        if error is None:
            await self._app(scope, receive, send)
            return
        HTTP_REFUSALS.labels(_API, error.reason).inc()
        await problem_of(error, instance=scope["path"][:PATH_LIMIT_CHARS])(scope, receive, send)

    def _fault_of(self, path: str) -> InvalidArgument | None:
        if len(path) > PATH_LIMIT_CHARS:
            words = f"has {len(path)} characters, and {PATH_LIMIT_CHARS} are allowed"
            return _refused("path", words, f"The path {words}. Send a shorter path.")
        if (found := _CONTROLS.search(path)) is not None:
            words = f"has the control character U+{ord(found[0]):04X}"
            return _refused(self._parameter_at(path), words, f"The path {words} at {found.start()}. Remove it.")
        return None

    def _parameter_at(self, path: str) -> str:
        """Return the name of the first parameter with a control character, or `path` if no route has this path."""
        for route in self._routes:
            if isinstance(route, Route) and (found := route.path_regex.match(path)) is not None:
                return next((name for name, value in found.groupdict().items() if _CONTROLS.search(value)), "path")
        return "path"


def _refused(field: str, words: str, message: str) -> InvalidArgument:
    return InvalidArgument("REQUEST_INVALID", message, violations=[FieldViolation(field, words)])


class _Number(Convertor[int]):
    """A number from 0 with at most 18 digits, so that it fits into every column."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return its digits."""
        return str(value)


class _Name(Convertor[str]):
    """One segment of a path, at most 200 characters."""

    regex = "[^/]{1,200}"

    def convert(self, value: str) -> str:
        """Return the part."""
        return value

    def to_string(self, value: str) -> str:
        """Return the part."""
        return value


class _Anything(Convertor[str]):
    """The whole rest of a path, including slashes; the operation validates it."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        """Return the text of the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return the text of the path."""
        return value


register_url_convertor("number", _Number())
register_url_convertor("name", _Name())
register_url_convertor("anything", _Anything())
