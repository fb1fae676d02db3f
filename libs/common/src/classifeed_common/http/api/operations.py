"""Operations of an HTTP API: parameters, allowed callers and responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

ServicesT = TypeVar("ServicesT")


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A checked request.

    Attributes:
        by: name of the caller.
        path: parameters in the path.
        body: body as the operation's model; None: it has none.
        query: query as the operation's model; None: it has none.
    """

    by: str
    path: Mapping[str, str]
    body: Any
    query: Any


@dataclass(frozen=True, slots=True)
class Operation(Generic[ServicesT]):
    """One route.

    Attributes:
        method: HTTP method.
        path: path with parameters.
        summary: short description.
        do: handler; receives the API's services and the request.
        response: model of the response.
        rpc: gRPC method whose callers may request it, if callers are checked; None: anybody, at any time.
        body: model of the JSON body; None: it has none.
        query: model of the query; None: it has none.
        max_body_bytes: largest size of the body.
        max_json_depth: largest nesting depth of the body.
        max_json_values: largest number of values in the body; None: any number.
        is_audited: whether each request is written to the audit log.
        problems: errors of the handler for the OpenAPI document, by HTTP status.
    """

    method: str
    path: str
    summary: str
    do: Callable[[ServicesT, ApiRequest], Awaitable[BaseModel]]
    response: type[BaseModel]
    rpc: str | None = None
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    max_body_bytes: int = 1 << 20
    max_json_depth: int = 64
    max_json_values: int | None = None
    is_audited: bool = True
    problems: Mapping[int, str] = field(default_factory=dict)

    @property
    def operation_id(self) -> str:
        """Unique name of the operation."""
        return self.do.__name__
