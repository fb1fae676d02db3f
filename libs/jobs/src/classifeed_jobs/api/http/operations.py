"""Operations of the HTTP face: what is asked of each, who may ask it, and what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.http.responses import Info, Status
from classifeed_jobs.api.queue_requests import WorkerId
from classifeed_jobs.api.requests import DEFAULT_PAGE, FilterBody
from classifeed_jobs.api.schedule_requests import ScheduleName
from classifeed_jobs.api.schema_words import Described

MAX_PAGE: Final = 1000
SERVICE: Final = "/classifeed.jobs.v1.JobService/"

PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE, description="Entries a page.")]


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request that was checked.

    Attributes:
        by: who asks.
        path: values in the path.
        body: of the operation's type; None: it takes none.
        query: likewise.
    """

    by: str
    path: Mapping[str, str]
    body: Any
    query: Any


@dataclass(frozen=True, slots=True)
class ApiServices:
    """What the operations work with."""

    admin: JobAdmin
    info: Info


@dataclass(frozen=True, slots=True)
class Operation:
    """One route.

    Attributes:
        rpc: method of JobService whose callers may do it where callers are asked; None: anybody, at any time.
        is_audited: whether each request leaves its lines in the audit log.
    """

    method: str
    path: str
    summary: str
    do: Callable[[ApiServices, ApiRequest], Awaitable[BaseModel]]
    response: type[BaseModel]
    rpc: str | None = None
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    max_body_bytes: int = 1 << 20
    is_audited: bool = True

    @property
    def operation_id(self) -> str:
        """Unique name of the operation."""
        return self.do.__name__


class JobsQuery(FilterBody):
    """Which jobs."""

    status: Status | None = Field(default=None, description="Only jobs that stand so.")
    page_size: PageSize = DEFAULT_PAGE
    page_token: Annotated[str, Described({"format": "uuid"})] | None = Field(
        default=None, description="next_page_token of the page before."
    )


class EventsQuery(BaseModel):
    """Which page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page_size: PageSize = MAX_PAGE
    page_token: Annotated[int, Field(ge=0, lt=1 << 63)] | None = Field(
        default=None, description="next_page_token of the page before."
    )


class SchedulesQuery(BaseModel):
    """Which page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page_size: PageSize = DEFAULT_PAGE
    page_token: ScheduleName | None = Field(default=None, description="next_page_token of the page before.")


class WorkersQuery(BaseModel):
    """Which page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page_size: PageSize = DEFAULT_PAGE
    page_token: WorkerId | None = Field(default=None, description="next_page_token of the page before.")
