"""The table of operations: every route of the HTTP face."""

from __future__ import annotations

from typing import Final

from classifeed_jobs.api.http import job_endpoints as endpoints
from classifeed_jobs.api.http import responses as answers
from classifeed_jobs.api.http import schedule_endpoints
from classifeed_jobs.api.http.operations import EventsQuery, JobsQuery, Operation, SchedulesQuery
from classifeed_jobs.api.requests import AskedBatch, AskedJob, AskedRetry
from classifeed_jobs.api.schedule_requests import AskedSchedule

OPERATIONS: Final = (
    Operation(
        "POST",
        "/api/v1/jobs/trigger",
        "Enqueue a job",
        endpoints.trigger_job,
        answers.TriggerAnswer,
        rpc="TriggerJob",
        body=AskedJob,
    ),
    Operation(
        "POST",
        "/api/v1/jobs:batch",
        "Enqueue up to 1,000 jobs, all or none",
        endpoints.trigger_jobs,
        answers.TriggerBatchAnswer,
        rpc="TriggerJobs",
        body=AskedBatch,
        max_body_bytes=16 << 20,
    ),
    Operation(
        "GET", "/api/v1/jobs", "List jobs", endpoints.list_jobs, answers.JobList, rpc="ListJobs", query=JobsQuery
    ),
    Operation(
        "GET",
        "/api/v1/jobs/{job_id}/status",
        "How a job stands",
        endpoints.get_job_status,
        answers.JobStatus,
        rpc="GetJob",
    ),
    Operation(
        "GET",
        "/api/v1/jobs/{job_id}/events",
        "The journal of a job",
        endpoints.list_job_events,
        answers.EventList,
        rpc="ListJobEvents",
        query=EventsQuery,
    ),
    Operation(
        "POST", "/api/v1/jobs/{job_id}/cancel", "Stop a job", endpoints.cancel_job, answers.CanceledJob, rpc="CancelJob"
    ),
    Operation(
        "POST",
        "/api/v1/jobs/{job_id}/retry",
        "Try a failed job again",
        endpoints.retry_job,
        answers.JobStatus,
        rpc="RetryJob",
    ),
    Operation(
        "POST",
        "/api/v1/jobs:retry",
        "Try failed jobs of a queue again",
        endpoints.retry_jobs,
        answers.RetriedJobs,
        rpc="RetryJobs",
        body=AskedRetry,
    ),
    Operation(
        "GET",
        "/api/v1/queues",
        "The queues and how they do",
        endpoints.list_queues,
        answers.QueueList,
        rpc="ListQueues",
    ),
    Operation(
        "POST",
        "/api/v1/queues/{queue:path}/pause",
        "Hold back a queue",
        endpoints.pause_queue,
        answers.QueueView,
        rpc="PauseQueue",
    ),
    Operation(
        "POST",
        "/api/v1/queues/{queue:path}/resume",
        "Let a queue go on",
        endpoints.resume_queue,
        answers.QueueView,
        rpc="ResumeQueue",
    ),
    Operation(
        "GET", "/api/v1/locks", "Who holds which lock key", endpoints.list_locks, answers.LockList, rpc="GetLocks"
    ),
    Operation(
        "GET",
        "/api/v1/schedules",
        "What is enqueued when",
        schedule_endpoints.list_schedules,
        answers.ScheduleList,
        rpc="ListSchedules",
        query=SchedulesQuery,
    ),
    Operation(
        "GET",
        "/api/v1/schedules/{name:path}",
        "How a schedule stands",
        schedule_endpoints.get_schedule,
        answers.ScheduleView,
        rpc="GetSchedule",
    ),
    Operation(
        "PUT",
        "/api/v1/schedules/{name:path}",
        "Make or replace a schedule",
        schedule_endpoints.put_schedule,
        answers.ScheduleView,
        rpc="PutSchedule",
        body=AskedSchedule,
    ),
    Operation(
        "DELETE",
        "/api/v1/schedules/{name:path}",
        "Remove a schedule",
        schedule_endpoints.delete_schedule,
        answers.ScheduleView,
        rpc="DeleteSchedule",
    ),
    Operation(
        "POST",
        "/api/v1/schedules/{name:path}/pause",
        "Hold back a schedule",
        schedule_endpoints.pause_schedule,
        answers.ScheduleView,
        rpc="PauseSchedule",
    ),
    Operation(
        "POST",
        "/api/v1/schedules/{name:path}/resume",
        "Let a schedule go on",
        schedule_endpoints.resume_schedule,
        answers.ScheduleView,
        rpc="ResumeSchedule",
    ),
    Operation("GET", "/health", "Whether the process answers", endpoints.get_health, answers.Health, is_audited=False),
    Operation("GET", "/info", "What is running", endpoints.get_info, answers.Info),
)
