"""Services and query parameters of the operations of the HTTP API of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from classifeed_common.http.api.schema_words import Described
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.http.responses import Info, Status
from classifeed_jobs.api.queue_requests import WorkerId
from classifeed_jobs.api.requests import DEFAULT_PAGE, FilterBody
from classifeed_jobs.api.schedule_requests import ScheduleName

MAX_PAGE: Final = 1000

PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE, description="Entries a page.")]


@dataclass(frozen=True, slots=True)
class ApiServices:
    """Services that the endpoints use."""

    admin: JobAdmin
    info: Info


class JobsQuery(FilterBody):
    """Filter and page of a list of jobs."""

    status: Status | None = Field(default=None, description="Only jobs with this status.")
    page_size: PageSize = DEFAULT_PAGE
    page_token: Annotated[str, Described({"format": "uuid"})] | None = Field(
        default=None, description="next_page_token of the previous page."
    )


class EventsQuery(BaseModel):
    """Page of a list of events."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page_size: PageSize = MAX_PAGE
    page_token: Annotated[int, Field(ge=0, lt=1 << 63)] | None = Field(
        default=None, description="next_page_token of the previous page."
    )


class SchedulesQuery(BaseModel):
    """Page of a list of schedules."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page_size: PageSize = DEFAULT_PAGE
    page_token: ScheduleName | None = Field(default=None, description="next_page_token of the previous page.")


class WorkersQuery(BaseModel):
    """Page of a list of workers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page_size: PageSize = DEFAULT_PAGE
    page_token: WorkerId | None = Field(default=None, description="next_page_token of the previous page.")
