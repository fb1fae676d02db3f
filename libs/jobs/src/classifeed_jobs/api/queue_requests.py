"""Requests for queues and workers, shared by the HTTP and gRPC APIs."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic.config import JsonDict

from classifeed_common.http.api.checking import checked
from classifeed_common.http.api.schema_words import NO_CONTROLS, Described
from classifeed_jobs.admin.queues import QueueLimits
from classifeed_jobs.api.requests import whole, without_controls
from classifeed_jobs.model.storable import INT32

_MAX_RATE = 1_000_000.0
_BURST_NEEDS_RATE: Final[JsonDict] = {
    "anyOf": [
        {"properties": {"rate_burst": {"type": "null"}}},
        {"required": ["rate_limit"], "properties": {"rate_limit": {"type": "number"}}},
    ]
}
Count = Annotated[int, Field(ge=1, lt=INT32), BeforeValidator(whole)] | None
WorkerId = Annotated[
    str, StringConstraints(min_length=1, max_length=500), AfterValidator(without_controls), Described(NO_CONTROLS)
]


class LimitsBody(BaseModel):
    """The limits of a queue over all workers. A null or absent field means no limit."""

    model_config = ConfigDict(
        title="QueueLimits", extra="forbid", strict=True, frozen=True, json_schema_extra=_BURST_NEEDS_RATE
    )

    concurrency_limit: Count = Field(default=None, description="Jobs that run at a time.")
    partition_limit: Count = Field(default=None, description="Jobs of one partition_key that run at a time.")
    rate_limit: Annotated[float, Field(gt=0, le=_MAX_RATE)] | None = Field(
        default=None, description="Maximum jobs started per second."
    )
    rate_burst: Count = Field(
        default=None, description="Jobs that may start at once after an idle time; default: the jobs of one second."
    )

    @model_validator(mode="after")
    def _burst_needs_rate(self) -> Self:
        if self.rate_burst is not None and self.rate_limit is None:
            raise ValueError("rate_burst needs rate_limit")
        return self

    def to_limits(self) -> QueueLimits:
        """Return the limits in the engine's type."""
        return QueueLimits(
            max_running=self.concurrency_limit,
            max_running_per_partition=self.partition_limit,
            rate_per_s=self.rate_limit,
            rate_burst=self.rate_burst,
        )


class _NamedWorker(BaseModel):
    page_token: WorkerId


def checked_worker_token(text: str) -> str:
    """Return the id of the worker after which a page begins.

    Raises:
        InvalidArgument: REQUEST_INVALID, the token is invalid.
    """
    return checked(_NamedWorker, {"page_token": text}).page_token
