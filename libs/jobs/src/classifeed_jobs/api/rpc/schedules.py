"""Methods of JobService for schedules."""

from __future__ import annotations

from classifeed.jobs.v1 import schedule_pb2
from classifeed.jobs.v1.job_service_pb2 import (
    DeleteScheduleRequest,
    GetScheduleRequest,
    ListSchedulesRequest,
    ListSchedulesResponse,
    PauseScheduleRequest,
    PutScheduleRequest,
    ResumeScheduleRequest,
)
from classifeed_common.http.api.checking import checked
from classifeed_common.rpc.context import Context
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.requests import DEFAULT_PAGE
from classifeed_jobs.api.rpc.methods import caller_name
from classifeed_jobs.api.rpc.schedule_messages import schedule_message, schedule_of
from classifeed_jobs.api.schedule_requests import ScheduleBody, checked_schedule_name, checked_schedule_token


class ScheduleMethods:
    """Methods for schedules."""

    def __init__(self, admin: JobAdmin) -> None:
        self._admin = admin

    async def ListSchedules(self, request: ListSchedulesRequest, context: Context) -> ListSchedulesResponse:
        """Return a page of schedules by name."""
        page = await self._admin.list_schedules(
            after=checked_schedule_token(request.page_token) if request.page_token else "",
            limit=request.page_size or DEFAULT_PAGE,
        )
        return ListSchedulesResponse(
            schedules=[schedule_message(state) for state in page.schedules], next_page_token=page.next_after or ""
        )

    async def GetSchedule(self, request: GetScheduleRequest, context: Context) -> schedule_pb2.Schedule:
        """Return a schedule.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        return schedule_message(await self._admin.get_schedule(checked_schedule_name(request.name)))

    async def PutSchedule(self, request: PutScheduleRequest, context: Context) -> schedule_pb2.Schedule:
        """Create or replace a schedule."""
        schedule = checked(ScheduleBody, schedule_of(request)).to_schedule(checked_schedule_name(request.name))
        return schedule_message(await self._admin.put_schedule(schedule, by=caller_name()))

    async def DeleteSchedule(self, request: DeleteScheduleRequest, context: Context) -> schedule_pb2.Schedule:
        """Remove a schedule and return its last state.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        name = checked_schedule_name(request.name)
        return schedule_message(await self._admin.remove_schedule(name, by=caller_name()))

    async def PauseSchedule(self, request: PauseScheduleRequest, context: Context) -> schedule_pb2.Schedule:
        """Pause a schedule: it creates no jobs until it is resumed.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        name = checked_schedule_name(request.name)
        return schedule_message(await self._admin.pause_schedule(name, by=caller_name()))

    async def ResumeSchedule(self, request: ResumeScheduleRequest, context: Context) -> schedule_pb2.Schedule:
        """Resume a paused schedule.

        Raises:
            NotFound: SCHEDULE_NOT_FOUND.
        """
        name = checked_schedule_name(request.name)
        return schedule_message(await self._admin.resume_schedule(name, by=caller_name()))
