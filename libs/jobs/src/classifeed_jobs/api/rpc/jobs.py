"""Methods of JobService for jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final
from uuid import UUID

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1.job_service_pb2 import (
    CancelJobRequest,
    GetJobRequest,
    ListJobEventsRequest,
    ListJobEventsResponse,
    ListJobsRequest,
    ListJobsResponse,
    RetryJobRequest,
    RetryJobsRequest,
    RetryJobsResponse,
    TriggerJobRequest,
    TriggerJobResponse,
    TriggerJobsRequest,
    TriggerJobsResponse,
    WatchJobRequest,
)
from classifeed_common.errors import FieldViolation, InvalidArgument, Unavailable
from classifeed_common.http.api.checking import checked, refusal
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.rpc.context import Context
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.requests import (
    DEFAULT_PAGE,
    BatchBody,
    FilterBody,
    JobBody,
    RetryBody,
    checked_job_id,
)
from classifeed_jobs.api.rpc import messages
from classifeed_jobs.api.rpc.methods import caller_name
from classifeed_jobs.api.rpc.values import time_of
from classifeed_jobs.model.job import TERMINAL, JobFilter

_EVENTS_PAGE: Final = 1000
_WATCH_PERIOD_S: Final = 0.25


class JobMethods:
    """Methods for jobs. The journal and the audit log record the caller's name."""

    def __init__(self, admin: JobAdmin) -> None:
        self._admin = admin
        self._draining = asyncio.Event()

    def drain(self) -> None:
        """End all watches, so that the shutdown does not wait for them; their callers call another replica."""
        self._draining.set()

    async def TriggerJob(self, request: TriggerJobRequest, context: Context) -> TriggerJobResponse:
        """Enqueue a job."""
        body = checked(JobBody, messages.job_body_of(request))
        [enqueued] = await self._admin.trigger([body.to_request()], by=caller_name())
        return messages.trigger_response(enqueued)

    async def TriggerJobs(self, request: TriggerJobsRequest, context: Context) -> TriggerJobsResponse:
        """Enqueue jobs, all or none."""
        batch = checked(BatchBody, {"jobs": [messages.job_body_of(job) for job in request.jobs]})
        enqueued = await self._admin.trigger([job.to_request() for job in batch.jobs], by=caller_name())
        return TriggerJobsResponse(jobs=[messages.trigger_response(each) for each in enqueued])

    async def GetJob(self, request: GetJobRequest, context: Context) -> job_pb2.Job:
        """Return a job.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        return messages.job_message(await self._admin.get(checked_job_id(request.job_id)))

    async def ListJobs(self, request: ListJobsRequest, context: Context) -> ListJobsResponse:
        """Return a page of jobs, the newest first."""
        page = await self._admin.list_jobs(
            _filter(request),
            status=messages.status_name(request.status),
            after=_read_token(request.page_token) if request.page_token else None,
            limit=request.page_size or DEFAULT_PAGE,
        )
        return ListJobsResponse(
            jobs=[messages.job_message(job) for job in page.jobs],
            next_page_token=str(page.next_after) if page.next_after is not None else "",
        )

    async def WatchJob(self, request: WatchJobRequest, context: Context) -> AsyncIterator[job_pb2.Job]:
        """Send the job immediately and at each change until it is complete, at most four times a second.

        Raises:
            NotFound: JOB_NOT_FOUND.
            Unavailable: DRAINING.
        """
        job_id = checked_job_id(request.job_id)
        shown = None
        while True:
            job = await self._admin.get(job_id)
            message = messages.job_message(job)
            looks = messages.without_heartbeat(message)
            if looks != shown:
                shown = looks
                yield message
            if job.status in TERMINAL:
                return
            await wait_for_event(self._draining, _WATCH_PERIOD_S)
            if self._draining.is_set():
                raise Unavailable("DRAINING", "The service is stopping; the job continues. Watch it again.")

    async def CancelJob(self, request: CancelJobRequest, context: Context) -> job_pb2.Job:
        """Cancel a job.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        return messages.job_message(await self._admin.cancel(checked_job_id(request.job_id), by=caller_name()))

    async def RetryJob(self, request: RetryJobRequest, context: Context) -> job_pb2.Job:
        """Enqueue a failed or canceled job again.

        Raises:
            NotFound: JOB_NOT_FOUND.
            FailedPrecondition: JOB_NOT_FAILED.
        """
        return messages.job_message(await self._admin.retry(checked_job_id(request.job_id), by=caller_name()))

    async def RetryJobs(self, request: RetryJobsRequest, context: Context) -> RetryJobsResponse:
        """Enqueue all matching failed jobs again."""
        since = time_of(request.failed_since, "failed_since") if request.HasField("failed_since") else None
        body = checked(RetryBody, {"queue": request.queue, "task": request.task or None, "failed_since": since})
        retried = await self._admin.retry_failed(body.to_filter(), since=body.failed_since, by=caller_name())
        return RetryJobsResponse(retried=retried)

    async def ListJobEvents(self, request: ListJobEventsRequest, context: Context) -> ListJobEventsResponse:
        """Return the journal of a job.

        Raises:
            NotFound: JOB_NOT_FOUND.
            Unavailable: DRAINING.
        """
        job_id = checked_job_id(request.job_id)
        response = ListJobEventsResponse()
        after = 0
        while True:
            events = await self._admin.list_events(job_id, after=after, limit=_EVENTS_PAGE)
            response.events.extend(messages.event_message(job_id, event) for event in events)
            if len(events) < _EVENTS_PAGE:
                return response
            after = events[-1].event_id


def _filter(request: ListJobsRequest) -> JobFilter:
    names = ("queue", "task", "lock_key")
    given = {name: getattr(request, name) for name in names if getattr(request, name)}
    return checked(FilterBody, given).to_filter()


def _read_token(token: str) -> UUID:
    try:
        return checked_job_id(token)
    except InvalidArgument as error:
        raise refusal([FieldViolation("page_token", "is not a token of ListJobs")]) from error
