"""The OpenAPI document (3.1) of operations, generated from their models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, Field, RootModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from classifeed_common.http.api.callers import CallerCheck
from classifeed_common.http.api.operations import ApiRequest, Operation, ServicesT

_REF: Final = "#/components/schemas/{model}"
_CONVERTOR = re.compile(r"\{(\w+)(?::\w+)?\}")
_FROM_PAGES: Final = "The request is for another host, or a web page of another origin sent it."
_PROBLEMS: Final = {
    400: "The request is wrong.",
    403: _FROM_PAGES,
    500: "An internal fault of the service.",
    503: "The service starts, stops, or waits for its database: try again later.",
}
_NOT_JSON: Final = {415: "The body is not JSON."}
_BODY: Final = {413: "The body is too large."}
_LIMITED: Final = {429: "The caller sends too many requests."}
_REFUSALS: Final = {
    401: "No service token, or one that is not valid.",
    403: f"The caller may not do this. {_FROM_PAGES}",
}


class Violation(BaseModel):
    """A field that was refused."""

    field: str
    description: str


class Problem(BaseModel):
    """Why a request was not done (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    reason: str = Field(description="Stable; programs branch on it.")
    metadata: dict[str, str] = {}
    violations: list[Violation] = []


class OpenApiDocument(RootModel[dict[str, Any]]):
    """The OpenAPI document."""


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """Description of an API, in addition to its operations.

    Attributes:
        title: title of the API.
        version: version of the API.
        description: text about the API.
        path_schemas: JSON Schemas of path parameters, by name.
        schemas: further components that the schemas of models refer to, by name.
    """

    title: str
    version: str
    description: str
    path_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def document_operation(
    operations: Sequence[Operation[ServicesT]], description: ApiDescription, callers: CallerCheck, *, rpc: str
) -> Operation[ServicesT]:
    """Return the operation that serves the document.

    Args:
        operations: operations of the API.
        description: description of the API.
        callers: check of callers.
        rpc: method whose callers may read the document.
    """
    document = OpenApiDocument(openapi_document(operations, description, callers))

    async def get_document(_: ServicesT, __: ApiRequest) -> OpenApiDocument:
        return document

    return Operation("GET", "/openapi.json", "This document", get_document, OpenApiDocument, rpc=rpc)


def openapi_document(
    operations: Sequence[Operation[Any]], description: ApiDescription, callers: CallerCheck
) -> dict[str, Any]:
    """Return the OpenAPI document."""
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [(Problem, "serialization")]
    for operation in operations:
        wanted.append((operation.response, "serialization"))
        wanted += [(operation.body, "validation")] if operation.body is not None else []
        wanted += [(operation.query, "validation")] if operation.query is not None else []
    refs, definitions = models_json_schema(wanted, ref_template=_REF)
    schemas = definitions["$defs"] | dict(description.schemas)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        shown = _CONVERTOR.sub(r"{\1}", operation.path)
        described = _describe(operation, refs, callers)
        described["parameters"] = _parameters(operation, refs, schemas, description.path_schemas)
        paths.setdefault(shown, {})[operation.method.lower()] = described
    for operation in operations:
        if operation.query is not None:
            schemas.pop(_name(refs[operation.query, "validation"]), None)
    components: dict[str, Any] = {"schemas": schemas}
    if callers.wants_tokens:
        components["securitySchemes"] = {"ticket": _security(callers)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": description.title,
            "version": description.version,
            "description": description.description,
        },
        "paths": paths,
        "components": components,
    }


def _security(callers: CallerCheck) -> dict[str, str]:
    header = callers.header
    if header.scheme:
        return {"type": "http", "scheme": header.scheme.lower(), "bearerFormat": "JWT"}
    return {"type": "apiKey", "in": "header", "name": header.name}


def _describe(operation: Operation[Any], refs: Any, callers: CallerCheck) -> dict[str, Any]:
    received = {"application/json": {"schema": refs[operation.response, "serialization"]}}
    responses = {"200": {"description": HTTPStatus.OK.phrase, "content": received}}
    problem = {"application/problem+json": {"schema": refs[Problem, "serialization"]}}
    for status, words in sorted(_problems_of(operation, callers).items()):
        responses[str(status)] = {"description": words, "content": problem}
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "description": operation.do.__doc__ or "",
        "responses": responses,
    }
    if operation.body is not None:
        schema = refs[operation.body, "validation"]
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if callers.wants_tokens and operation.rpc is not None:
        described["security"] = [{"ticket": []}]
    return described


def _problems_of(operation: Operation[Any], callers: CallerCheck) -> dict[int, str]:
    if operation.rpc is None:
        return {403: _FROM_PAGES, **operation.problems}
    return {
        **_PROBLEMS,
        **(_NOT_JSON if operation.method != "GET" else {}),
        **(_BODY if operation.body is not None else {}),
        **(_LIMITED if callers.limits.are_set else {}),
        **(_REFUSALS if callers.wants_tokens else {}),
        **operation.problems,
    }


def _parameters(
    operation: Operation[Any],
    refs: Any,
    schemas: dict[str, Any],
    path_schemas: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": path_schemas[name]}
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
    """Return the schemas of a query parameter: a URL has no null, and an empty value means that it is left out."""
    return [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]


def _name(reference: dict[str, str]) -> str:
    return reference["$ref"].rpartition("/")[2]
