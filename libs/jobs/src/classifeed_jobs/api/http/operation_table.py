"""The table of operations: every route of the HTTP API."""

from __future__ import annotations

from typing import Final

from classifeed_common.http.api.operations import Operation
from classifeed_jobs.api.http import job_endpoints, responses, schedule_endpoints
from classifeed_jobs.api.http.operations import ApiServices, EventsQuery, JobsQuery, SchedulesQuery, WorkersQuery
from classifeed_jobs.api.queue_requests import LimitsBody
from classifeed_jobs.api.requests import BatchBody, JobBody, RetryBody
from classifeed_jobs.api.schedule_requests import ScheduleBody

_NO_JOB: Final = {404: "There is no such job."}
_NO_SCHEDULE: Final = {404: "There is no such schedule."}
_JOBS_OPEN: Final = {429: "The caller has too many jobs that are not complete."}

OPERATIONS: Final[tuple[Operation[ApiServices], ...]] = (
    Operation(
        "POST",
        "/api/v1/jobs/trigger",
        "Enqueue a job",
        job_endpoints.trigger_job,
        responses.TriggerResponse,
        rpc="TriggerJob",
        problems=_JOBS_OPEN,
        body=JobBody,
    ),
    Operation(
        "POST",
        "/api/v1/jobs:batch",
        "Enqueue up to 1,000 jobs, all or none",
        job_endpoints.trigger_jobs,
        responses.TriggerBatchResponse,
        rpc="TriggerJobs",
        problems=_JOBS_OPEN,
        body=BatchBody,
        max_body_bytes=16 << 20,
    ),
    Operation(
        "GET", "/api/v1/jobs", "List jobs", job_endpoints.list_jobs, responses.JobList, rpc="ListJobs", query=JobsQuery
    ),
    Operation(
        "GET",
        "/api/v1/jobs/{job_id}/status",
        "Get a job",
        job_endpoints.get_job_status,
        responses.JobStatus,
        rpc="GetJob",
        problems=_NO_JOB,
    ),
    Operation(
        "GET",
        "/api/v1/jobs/{job_id}/events",
        "The journal of a job",
        job_endpoints.list_job_events,
        responses.EventList,
        rpc="ListJobEvents",
        problems=_NO_JOB,
        query=EventsQuery,
    ),
    Operation(
        "POST",
        "/api/v1/jobs/{job_id}/cancel",
        "Stop a job",
        job_endpoints.cancel_job,
        responses.CanceledJob,
        rpc="CancelJob",
        problems=_NO_JOB,
    ),
    Operation(
        "POST",
        "/api/v1/jobs/{job_id}/retry",
        "Retry a failed job",
        job_endpoints.retry_job,
        responses.JobStatus,
        rpc="RetryJob",
        problems={**_NO_JOB, 412: "The status of the job does not allow this."},
    ),
    Operation(
        "POST",
        "/api/v1/jobs:retry",
        "Retry failed jobs of a queue",
        job_endpoints.retry_jobs,
        responses.RetriedJobs,
        rpc="RetryJobs",
        body=RetryBody,
    ),
    Operation(
        "GET",
        "/api/v1/queues",
        "List queues and their state",
        job_endpoints.list_queues,
        responses.QueueList,
        rpc="ListQueues",
    ),
    Operation(
        "POST",
        "/api/v1/queues/{queue:anything}/pause",
        "Pause a queue",
        job_endpoints.pause_queue,
        responses.QueueView,
        rpc="PauseQueue",
    ),
    Operation(
        "POST",
        "/api/v1/queues/{queue:anything}/resume",
        "Resume a queue",
        job_endpoints.resume_queue,
        responses.QueueView,
        rpc="ResumeQueue",
    ),
    Operation(
        "PUT",
        "/api/v1/queues/{queue:anything}/limits",
        "Replace the limits of a queue",
        job_endpoints.set_queue_limits,
        responses.QueueView,
        rpc="SetQueueLimits",
        body=LimitsBody,
    ),
    Operation(
        "GET",
        "/api/v1/workers",
        "List worker processes",
        job_endpoints.list_workers,
        responses.WorkerList,
        rpc="ListWorkers",
        query=WorkersQuery,
    ),
    Operation(
        "GET",
        "/api/v1/locks",
        "List lock keys and their holders",
        job_endpoints.list_locks,
        responses.LockList,
        rpc="GetLocks",
    ),
    Operation(
        "GET",
        "/api/v1/schedules",
        "List schedules",
        schedule_endpoints.list_schedules,
        responses.ScheduleList,
        rpc="ListSchedules",
        query=SchedulesQuery,
    ),
    Operation(
        "GET",
        "/api/v1/schedules/{name:anything}",
        "Get a schedule",
        schedule_endpoints.get_schedule,
        responses.ScheduleView,
        rpc="GetSchedule",
        problems=_NO_SCHEDULE,
    ),
    Operation(
        "PUT",
        "/api/v1/schedules/{name:anything}",
        "Create or replace a schedule",
        schedule_endpoints.put_schedule,
        responses.ScheduleView,
        rpc="PutSchedule",
        body=ScheduleBody,
    ),
    Operation(
        "DELETE",
        "/api/v1/schedules/{name:anything}",
        "Delete a schedule",
        schedule_endpoints.delete_schedule,
        responses.ScheduleView,
        rpc="DeleteSchedule",
        problems=_NO_SCHEDULE,
    ),
    Operation(
        "POST",
        "/api/v1/schedules/{name:anything}/pause",
        "Pause a schedule",
        schedule_endpoints.pause_schedule,
        responses.ScheduleView,
        rpc="PauseSchedule",
        problems=_NO_SCHEDULE,
    ),
    Operation(
        "POST",
        "/api/v1/schedules/{name:anything}/resume",
        "Resume a schedule",
        schedule_endpoints.resume_schedule,
        responses.ScheduleView,
        rpc="ResumeSchedule",
        problems=_NO_SCHEDULE,
    ),
    Operation(
        "GET", "/health", "Whether the process responds", job_endpoints.get_health, responses.Health, is_audited=False
    ),
    Operation("GET", "/info", "What is running", job_endpoints.get_info, responses.Info),
)
