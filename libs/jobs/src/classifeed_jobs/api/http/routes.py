"""The routes of the HTTP API of jobs, for the server of a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.routing import BaseRoute

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.http.api.callers import CallerCheck
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.openapi import ApiDescription, document_operation
from classifeed_common.http.api.routes import operation_routes
from classifeed_common.http.api.schema_words import NO_CONTROLS
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.http.metrics import BY_CONTRACT
from classifeed_jobs.api.http.operation_table import OPERATIONS
from classifeed_jobs.api.http.operations import ApiServices
from classifeed_jobs.api.http.responses import Info
from classifeed_jobs.api.schema_words import JSON_VALUE

_PATH_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "job_id": {"type": "string", "format": "uuid"},
    "queue": {"type": "string", "minLength": 1, "maxLength": 63, **NO_CONTROLS},
    "name": {"type": "string", "minLength": 1, "maxLength": 200, **NO_CONTROLS},
}


def job_routes(admin: JobAdmin, *, info: Info, keys: KeyStore | None = None, policy: Policy) -> list[BaseRoute]:
    """Return the routes for the jobs of a service. Their `/health` replaces the standard one.

    Args:
        admin: Administration of the service's jobs.
        info: Response of /info; its service is also the audience of tokens.
        keys: Keys that verify tokens of callers; None: every client of the port may call everything.
        policy: Permissions of callers.
    """
    callers = CallerCheck(keys=keys, policy=policy, grpc_service="classifeed.jobs.v1.JobService", audience=info.service)
    description = ApiDescription(
        title="Jobs",
        version=info.version,
        description="Times are in UTC (RFC 3339, ending in Z).",
        path_schemas=_PATH_SCHEMAS,
        schemas={"JsonValue": JSON_VALUE},
    )
    middleware = ApiMiddleware(
        "jobs", "classifeed_jobs", ApiServices(admin, info), callers=callers, metrics=BY_CONTRACT
    )
    # A caller that may list jobs may also read the OpenAPI document.
    own = document_operation(OPERATIONS, description, callers, rpc="ListJobs")
    return operation_routes((*OPERATIONS, own), middleware)
