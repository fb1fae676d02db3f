"""The routes of the HTTP face, for the server of a service."""

from __future__ import annotations

from typing import Any

from pydantic import RootModel
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from classifeed_common.auth import KeyStore, Policy
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.http.middleware import ApiMiddleware
from classifeed_jobs.api.http.openapi import openapi_document
from classifeed_jobs.api.http.operation_table import OPERATIONS
from classifeed_jobs.api.http.operations import ApiRequest, ApiServices, Operation
from classifeed_jobs.api.http.responses import Info


class _Anything(Convertor[str]):
    """Whatever stands in a path, slashes and line ends too: the operation says what is wrong with a name."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        """Return the text of the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return the text of the path."""
        return value


register_url_convertor("anything", _Anything())


class OpenApiDocument(RootModel[dict[str, Any]]):
    """The OpenAPI document."""


def job_routes(admin: JobAdmin, *, info: Info, keys: KeyStore | None = None, policy: Policy) -> list[BaseRoute]:
    """Return the routes for the jobs of a service; its `/health` takes the place of the standard one.

    Args:
        admin: the service's jobs.
        info: the answer of /info; its service is also whom tickets must be for.
        keys: verify the tickets of callers; None: whoever reaches the port may do everything.
        policy: who may do what.
    """
    document = OpenApiDocument(
        openapi_document(OPERATIONS, title="Jobs", version=info.version, is_guarded=keys is not None)
    )

    async def get_document(_: ApiServices, __: ApiRequest) -> OpenApiDocument:
        return document

    # Whoever may see the jobs may read how to ask for them.
    own = Operation("GET", "/openapi.json", "This document", get_document, OpenApiDocument, rpc="ListJobs")
    door = ApiMiddleware(ApiServices(admin, info), keys=keys, policy=policy)
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in (*OPERATIONS, own):
        by_path.setdefault(operation.path, {})[operation.method] = operation

    def route(path: str) -> Route:
        operations = by_path[path]

        async def respond(request: Request) -> Response:
            return await door.response(operations["GET" if request.method == "HEAD" else request.method], request)

        return Route(path, respond, methods=list(operations))

    # A name takes all that follows, so paths that go on after it come first.
    return [route(path) for path in sorted(by_path, key=lambda each: each.endswith(":anything}"))]
