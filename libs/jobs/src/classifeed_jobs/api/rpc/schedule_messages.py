"""Conversion of schedules to messages, and of messages to requests."""

from __future__ import annotations

from typing import Any, cast

from classifeed.jobs.v1 import schedule_pb2
from classifeed.jobs.v1.job_service_pb2 import PutScheduleRequest
from classifeed_jobs.api.rpc.values import run_request, struct_of, timestamp_of
from classifeed_jobs.schedule.schedules import ScheduleState

_PREFIX = "MISSED_SLOTS_"
_OVERLAP = "OVERLAP_"


def schedule_of(request: PutScheduleRequest) -> dict[str, Any]:
    """Return the values of a ScheduleBody, without fields that are not set."""
    values = run_request(request)
    if (timing := request.WhichOneof("timing")) is not None:
        values[timing] = getattr(request, timing)
    if request.time_zone:
        values["time_zone"] = request.time_zone
    if request.missed != schedule_pb2.MISSED_SLOTS_UNSPECIFIED:
        values["missed"] = schedule_pb2.MissedSlots.Name(request.missed).removeprefix(_PREFIX).lower()
    if request.HasField("grace_sec"):
        values["grace_sec"] = request.grace_sec
    if request.overlap != schedule_pb2.OVERLAP_UNSPECIFIED:
        values["overlap"] = schedule_pb2.Overlap.Name(request.overlap).removeprefix(_OVERLAP).lower()
    return values


def schedule_message(state: ScheduleState) -> schedule_pb2.Schedule:
    """Return a schedule and its state as a message."""
    schedule = state.schedule
    missed = schedule_pb2.MissedSlots.Value(f"{_PREFIX}{schedule.missed.upper()}")
    return schedule_pb2.Schedule(
        name=schedule.name,
        queue=schedule.queue,
        task=schedule.task,
        args=struct_of(schedule.args),
        lock_key=schedule.lock_key or "",
        partition_key=schedule.partition_key or "",
        priority=schedule.priority,
        max_attempts=schedule.max_attempts or 0,
        lease_ttl_sec=schedule.lease_ttl_s or 0,
        cron=schedule.cron,
        every_sec=schedule.every_s,
        time_zone=schedule.time_zone,
        missed=cast(schedule_pb2.MissedSlots, missed),
        grace_sec=schedule.grace_s,
        overlap=cast(schedule_pb2.Overlap, schedule_pb2.Overlap.Value(f"{_OVERLAP}{schedule.overlap.upper()}")),
        paused=state.paused_at is not None,
        pause_time=timestamp_of(state.paused_at),
        paused_by=state.paused_by or "",
        next_slot_time=timestamp_of(state.next_slot) if state.paused_at is None else None,
        last_slot_time=timestamp_of(state.last_slot),
        last_job_id=str(state.last_job_id) if state.last_job_id is not None else "",
    )
