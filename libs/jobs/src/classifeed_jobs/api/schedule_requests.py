"""Requests for schedules, shared by the HTTP and gRPC APIs."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic.config import JsonDict

from classifeed_common.http.api.checking import checked
from classifeed_common.http.api.schema_words import NO_CONTROLS, Described
from classifeed_common.zones import find_zone
from classifeed_jobs.api.requests import RunRequest, whole, without_controls
from classifeed_jobs.model.storable import INT32, MAX_NAME
from classifeed_jobs.schedule.cron import Cron
from classifeed_jobs.schedule.schedules import Missed, Overlap, Schedule

ScheduleName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME),
    AfterValidator(without_controls),
    Described(NO_CONTROLS),
]
_ONE_TIMING: Final[JsonDict] = {
    "oneOf": [
        {"required": ["cron"], "properties": {"cron": {"type": "string"}, "every_sec": {"type": "null"}}},
        {"required": ["every_sec"], "properties": {"every_sec": {"type": "integer"}, "cron": {"type": "null"}}},
    ]
}


def _cron(expression: str) -> str:
    Cron.parse(expression)
    return expression


def _zone(name: str) -> str:
    find_zone(name)
    return name


CronText = Annotated[str, StringConstraints(max_length=200), AfterValidator(_cron), Described({"format": "cron"})]
ZoneText = Annotated[str, StringConstraints(max_length=64), AfterValidator(_zone), Described({"format": "time-zone"})]


class ScheduleBody(RunRequest):
    """A schedule to create or replace. Its name is not part of the body. Null fields count as absent, except
    max_attempts."""

    model_config = ConfigDict(title="ScheduleRequest", json_schema_extra=_ONE_TIMING)

    cron: CronText | None = Field(
        default=None, description="Minute, hour, day, month, day of the week, or @daily and the like; or every_sec."
    )
    every_sec: Annotated[int, Field(ge=1, lt=INT32), BeforeValidator(whole)] | None = Field(
        default=None, validate_default=True, description="Seconds between two slots, counted from 1970; or cron."
    )
    time_zone: ZoneText | None = Field(
        default=None, description="IANA name of the time zone in which cron is evaluated; default: the service's."
    )
    missed: Missed | None = Field(default=None, description="Treatment of missed slots; default: run_once.")
    grace_sec: Annotated[int, Field(ge=0, lt=INT32), BeforeValidator(whole)] | None = Field(
        default=None, description="Seconds that the newest slot may be late without counting as missed; default: 60."
    )
    overlap: Overlap | None = Field(
        default=None,
        description="Treatment of a slot while the last job is not complete; default: queue_one. With missed=run_all, "
        "each slot gets its job.",
    )

    @field_validator("every_sec")
    @classmethod
    def _has_one_timing(cls, every_sec: int | None, info: ValidationInfo) -> int | None:
        # A refused cron is not in the data: one error per request is enough.
        if "cron" in info.data and (info.data["cron"] is None) == (every_sec is None):
            raise ValueError("set either cron or every_sec")
        return every_sec

    def to_schedule(self, name: str) -> Schedule:
        """Return the schedule in the engine's type."""
        policy = {
            "time_zone": self.time_zone,
            "missed": self.missed,
            "grace_s": self.grace_sec,
            "overlap": self.overlap,
        }
        given: dict[str, Any] = {field: value for field, value in policy.items() if value is not None}
        return Schedule(name=name, cron=self.cron, every_s=self.every_sec, **given, **self.run_values())


class _NamedSchedule(BaseModel):
    name: ScheduleName


class _SchedulesAfter(BaseModel):
    page_token: ScheduleName


def checked_schedule_name(text: str) -> str:
    """Return the name of a schedule: 1 to 200 characters without control characters.

    Raises:
        InvalidArgument: REQUEST_INVALID, the name is invalid.
    """
    return checked(_NamedSchedule, {"name": text}).name


def checked_schedule_token(text: str) -> str:
    """Return the name of the schedule after which a page begins.

    Raises:
        InvalidArgument: REQUEST_INVALID, the token is invalid.
    """
    return checked(_SchedulesAfter, {"page_token": text}).page_token
