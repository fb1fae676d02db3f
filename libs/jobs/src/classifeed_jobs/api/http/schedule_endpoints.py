"""Endpoints of schedules: they translate requests and call JobAdmin."""

from __future__ import annotations

from classifeed_common.http.api.operations import ApiRequest
from classifeed_jobs.api.http import responses
from classifeed_jobs.api.http.operations import ApiServices, SchedulesQuery
from classifeed_jobs.api.schedule_requests import checked_schedule_name
from classifeed_jobs.schedule.schedules import ScheduleState


async def list_schedules(services: ApiServices, request: ApiRequest) -> responses.ScheduleList:
    """List the schedules by name."""
    query: SchedulesQuery = request.query
    page = await services.admin.list_schedules(after=query.page_token or "", limit=query.page_size)
    return responses.ScheduleList(
        schedules=[_schedule(state) for state in page.schedules], next_page_token=page.next_after
    )


async def get_schedule(services: ApiServices, request: ApiRequest) -> responses.ScheduleView:
    """Return a schedule and its state."""
    return _schedule(await services.admin.get_schedule(_name(request)))


async def put_schedule(services: ApiServices, request: ApiRequest) -> responses.ScheduleView:
    """Create or replace a schedule. If its timing is unchanged, no slot is skipped or repeated. A pause is kept."""
    return _schedule(await services.admin.put_schedule(request.body.to_schedule(_name(request)), by=request.by))


async def delete_schedule(services: ApiServices, request: ApiRequest) -> responses.ScheduleView:
    """Remove a schedule and return its last state. Its jobs are kept."""
    return _schedule(await services.admin.remove_schedule(_name(request), by=request.by))


async def pause_schedule(services: ApiServices, request: ApiRequest) -> responses.ScheduleView:
    """Pause a schedule: it creates no jobs until it is resumed, and its slots do not count as missed."""
    return _schedule(await services.admin.pause_schedule(_name(request), by=request.by))


async def resume_schedule(services: ApiServices, request: ApiRequest) -> responses.ScheduleView:
    """Resume a paused schedule at its next slot from now."""
    return _schedule(await services.admin.resume_schedule(_name(request), by=request.by))


def _name(request: ApiRequest) -> str:
    return checked_schedule_name(request.path["name"])


def _schedule(state: ScheduleState) -> responses.ScheduleView:
    schedule = state.schedule
    return responses.ScheduleView(
        name=schedule.name,
        queue=schedule.queue,
        task=schedule.task,
        args=dict(schedule.args),
        lock_key=schedule.lock_key,
        partition_key=schedule.partition_key,
        priority=schedule.priority,
        max_attempts=schedule.max_attempts,
        lease_ttl_sec=schedule.lease_ttl_s,
        cron=schedule.cron,
        every_sec=schedule.every_s,
        time_zone=schedule.time_zone,
        missed=schedule.missed,
        grace_sec=schedule.grace_s,
        overlap=schedule.overlap,
        paused=state.paused_at is not None,
        paused_at=state.paused_at,
        paused_by=state.paused_by,
        next_slot=state.next_slot if state.paused_at is None else None,
        last_slot=state.last_slot,
        last_job_id=state.last_job_id,
    )
