"""Operations of an HTTP API: what each takes, who may request it, and what it responds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

ServicesT = TypeVar("ServicesT")


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request that was checked.

    Attributes:
        by: who requests.
        path: values in the path.
        body: of the operation's type; None: it takes none.
        query: likewise.
    """

    by: str
    path: Mapping[str, str]
    body: Any
    query: Any


@dataclass(frozen=True, slots=True)
class Operation(Generic[ServicesT]):
    """One route.

    Attributes:
        do: the handler, given what the operations of the API work with.
        response: model of what it returns.
        rpc: name of the gRPC method whose callers may request it where callers are checked; None: anybody, at any time.
        body: model of the JSON body; None: it takes none.
        query: likewise, of what follows the path.
        max_body_bytes: a larger body is refused.
        max_json_depth: a body with more objects and arrays inside one another is refused.
        max_json_values: a body with more values is refused; None: any number.
        is_audited: whether each request leaves its lines in the audit log.
        problems: what the handler refuses, by HTTP status, in words of the OpenAPI document.
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
