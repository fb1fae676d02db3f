"""The routes of the HTTP face, for the server of a service."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import RootModel
from starlette.routing import BaseRoute, Route

from classifeed_common.auth import KeyStore, Policy
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.http.middleware import ApiMiddleware
from classifeed_jobs.api.http.openapi import openapi_document
from classifeed_jobs.api.http.operation_table import OPERATIONS
from classifeed_jobs.api.http.operations import ApiRequest, ApiServices, Operation
from classifeed_jobs.api.http.responses import Info


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
    return [Route(each.path, partial(door.response, each), methods=[each.method]) for each in (*OPERATIONS, own)]
