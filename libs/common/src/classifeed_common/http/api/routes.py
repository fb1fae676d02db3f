"""Operations as routes of a service's server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from classifeed_common.http import paths  # noqa: F401 - registers the types of parameters
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.operations import Operation, ServicesT

# A parameter without a type is one segment of the path.
_UNTYPED: Final = re.compile(r"\{(\w+)\}")


def operation_routes(
    operations: Sequence[Operation[ServicesT]], middleware: ApiMiddleware[ServicesT]
) -> list[BaseRoute]:
    """Return one route per path with all its methods; a path may contain `{name:anything}`."""
    by_path: dict[str, dict[str, Operation[ServicesT]]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation

    def route(path: str) -> Route:
        of_path = by_path[path]

        async def respond(request: Request) -> Response:
            return await middleware.response(of_path["GET" if request.method == "HEAD" else request.method], request)

        return Route(_UNTYPED.sub(r"{\1:name}", path), respond, methods=list(of_path))

    # Such a parameter matches the whole rest of a path, so more specific paths come first.
    return [route(path) for path in sorted(by_path, key=lambda each: each.endswith(":anything}"))]
