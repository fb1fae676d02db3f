"""The OpenAPI document (3.1) of the operations, made from their models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from classifeed_jobs.api.http.operations import Operation
from classifeed_jobs.api.http.responses import Problem
from classifeed_jobs.api.schema_words import JSON_VALUE, NO_CONTROLS

_REF: Final = "#/components/schemas/{model}"
_CONVERTOR = re.compile(r"\{(\w+)(?::\w+)?\}")
_PATH_SCHEMAS: Final = {
    "job_id": {"type": "string", "format": "uuid"},
    "queue": {"type": "string", "minLength": 1, "maxLength": 63, **NO_CONTROLS},
    "name": {"type": "string", "minLength": 1, "maxLength": 200, **NO_CONTROLS},
}
_PROBLEMS: Final = {
    400: "The request is wrong.",
    404: "There is no such job, or no such schedule.",
    403: "The request is for another host, or a web page of another origin sent it.",
    412: "The job does not stand so that this can be done.",
    415: "The body is not JSON.",
    429: "The caller has too many jobs that have not ended.",
    500: "A fault of the service.",
    503: "The service starts, stops, or waits for its database: try again later.",
}
_REFUSALS: Final = {401: "No ticket, or one that is not valid.", 403: f"The caller may not do this. {_PROBLEMS[403]}"}
_TRIGGERS: Final = frozenset({"TriggerJob", "TriggerJobs"})


def openapi_document(operations: Sequence[Operation], *, title: str, version: str, is_guarded: bool) -> dict[str, Any]:
    """Return the document.

    Args:
        is_guarded: whether callers are asked for tickets.
    """
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [(Problem, "serialization")]
    for operation in operations:
        wanted.append((operation.response, "serialization"))
        wanted += [(operation.body, "validation")] if operation.body is not None else []
        wanted += [(operation.query, "validation")] if operation.query is not None else []
    refs, definitions = models_json_schema(wanted, ref_template=_REF)
    schemas = definitions["$defs"] | {"JsonValue": JSON_VALUE}
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        shown = _CONVERTOR.sub(r"{\1}", operation.path)
        paths.setdefault(shown, {})[operation.method.lower()] = _describe(operation, refs, schemas, is_guarded)
    for operation in operations:
        if operation.query is not None:
            schemas.pop(_name(refs[operation.query, "validation"]), None)
    components: dict[str, Any] = {"schemas": schemas}
    if is_guarded:
        components["securitySchemes"] = {"ticket": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": "Times are in UTC (RFC 3339, ending in Z)."},
        "paths": paths,
        "components": components,
    }


def _describe(operation: Operation, refs: Any, schemas: dict[str, Any], is_guarded: bool) -> dict[str, Any]:
    is_open = operation.rpc is None
    received = {"application/json": {"schema": refs[operation.response, "serialization"]}}
    responses = {"200": {"description": HTTPStatus.OK.phrase, "content": received}}
    problem = {"application/problem+json": {"schema": refs[Problem, "serialization"]}}
    for status, words in ({403: _PROBLEMS[403]} if is_open else _problems_of(operation, is_guarded)).items():
        responses[str(status)] = {"description": words, "content": problem}
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "description": operation.do.__doc__ or "",
        "parameters": _parameters(operation, refs, schemas),
        "responses": responses,
    }
    if operation.body is not None:
        schema = refs[operation.body, "validation"]
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if is_guarded and not is_open:
        described["security"] = [{"ticket": []}]
    return described


def _problems_of(operation: Operation, is_guarded: bool) -> dict[int, str]:
    problems = _PROBLEMS | (_REFUSALS if is_guarded else {})
    unused = set()
    if "{job_id}" not in operation.path and ("{name:anything}" not in operation.path or operation.method == "PUT"):
        unused.add(404)
    if operation.rpc != "RetryJob":
        unused.add(412)
    if operation.method == "GET":
        unused.add(415)
    if operation.rpc not in _TRIGGERS:
        unused.add(429)
    return {status: words for status, words in sorted(problems.items()) if status not in unused}


def _parameters(operation: Operation, refs: Any, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS[name]}
        for name in _CONVERTOR.findall(operation.path)
    ]
    if operation.query is None:
        return parameters
    for name, schema in schemas[_name(refs[operation.query, "validation"])]["properties"].items():
        words = schema.get("description", "")
        shown = {"anyOf": [*_without_null(schema), {"type": "string", "maxLength": 0}]}
        parameters.append({"name": name, "in": "query", "required": False, "description": words, "schema": shown})
    return parameters


def _without_null(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a query parameter may be: JSON's null cannot stand in an address; an empty one is as left out."""
    return [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]


def _name(reference: dict[str, str]) -> str:
    return reference["$ref"].rpartition("/")[2]
