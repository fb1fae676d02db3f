"""JobService: the jobs of one service over gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

import grpc.aio

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1.job_service_pb2 import (
    CancelJobRequest,
    GetJobRequest,
    GetLocksRequest,
    GetLocksResponse,
    ListJobEventsRequest,
    ListJobEventsResponse,
    ListJobsRequest,
    ListJobsResponse,
    ListQueuesRequest,
    ListQueuesResponse,
    PauseQueueRequest,
    ResumeQueueRequest,
    RetryJobRequest,
    RetryJobsRequest,
    RetryJobsResponse,
    TriggerJobRequest,
    TriggerJobResponse,
    TriggerJobsRequest,
    TriggerJobsResponse,
    WatchJobRequest,
)
from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceServicer, add_JobServiceServicer_to_server
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument, Unavailable
from classifeed_common.rpc.call import current_call
from classifeed_common.rpc.server import Servicer
from classifeed_jobs.admin import JobAdmin
from classifeed_jobs.faces.asked import AskedBatch, AskedJob, checked, checked_job_id, refusal
from classifeed_jobs.faces.locks import list_lock_states
from classifeed_jobs.faces.retrying import retry_failed_since
from classifeed_jobs.faces.rpc import messages
from classifeed_jobs.job import TERMINAL, JobFilter
from classifeed_jobs.store import JobStore

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
_DEFAULT_PAGE: Final = 50
_EVENTS_PAGE: Final = 1000
_WATCH_PERIOD_S: Final = 0.25
_MINUTE_S: Final = 60.0
_HOUR_S: Final = 3600.0


class JobService(JobServiceServicer):
    """Translates and calls. Jobs that callers enqueue are theirs by name: the journal and the audit log keep who.

    Args:
        db: the service's database.
        store: its job store.
    """

    def __init__(self, db: Database, store: JobStore) -> None:
        self._db = db
        self._admin = JobAdmin(db, store)
        self._draining = asyncio.Event()

    def drain(self) -> None:
        """Ends the watches, so that nobody waits for them; whoever watched asks another replica."""
        self._draining.set()

    async def TriggerJob(self, request: TriggerJobRequest, context: Context) -> TriggerJobResponse:
        """Enqueues a job."""
        asked = checked(AskedJob, messages.asked_of(request))
        [enqueued] = await self._admin.trigger([asked.to_request()], by=_caller())
        return messages.trigger_answer(enqueued)

    async def TriggerJobs(self, request: TriggerJobsRequest, context: Context) -> TriggerJobsResponse:
        """Enqueues jobs, all or none."""
        batch = checked(AskedBatch, {"jobs": [messages.asked_of(job) for job in request.jobs]})
        enqueued = await self._admin.trigger([job.to_request() for job in batch.jobs], by=_caller())
        return TriggerJobsResponse(jobs=[messages.trigger_answer(each) for each in enqueued])

    async def GetJob(self, request: GetJobRequest, context: Context) -> job_pb2.Job:
        """Returns a job.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        return messages.job_message(await self._admin.get(checked_job_id(request.job_id)))

    async def ListJobs(self, request: ListJobsRequest, context: Context) -> ListJobsResponse:
        """Returns a page of jobs, the newest first."""
        which = JobFilter(queue=request.queue or None, task=request.task or None, lock_key=request.lock_key or None)
        page = await self._admin.list_jobs(
            which,
            status=messages.status_name(request.status),
            after=_read_token(request.page_token) if request.page_token else None,
            limit=request.page_size or _DEFAULT_PAGE,
        )
        return ListJobsResponse(
            jobs=[messages.job_message(job) for job in page.jobs],
            next_page_token=str(page.next_after) if page.next_after is not None else "",
        )

    async def WatchJob(self, request: WatchJobRequest, context: Context) -> AsyncIterator[job_pb2.Job]:
        """Sends the job at once, then at each change, four times a second at most, until it has ended.

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
            with suppress(TimeoutError):
                await asyncio.wait_for(self._draining.wait(), _WATCH_PERIOD_S)
                raise Unavailable("DRAINING", "The service is stopping; the job goes on. Watch it again.")

    async def CancelJob(self, request: CancelJobRequest, context: Context) -> job_pb2.Job:
        """Asks a job to stop.

        Raises:
            NotFound: JOB_NOT_FOUND.
        """
        return messages.job_message(await self._admin.cancel(checked_job_id(request.job_id), by=_caller()))

    async def RetryJob(self, request: RetryJobRequest, context: Context) -> job_pb2.Job:
        """Enqueues a failed or canceled job again.

        Raises:
            NotFound: JOB_NOT_FOUND.
            FailedPrecondition: JOB_NOT_FAILED.
        """
        return messages.job_message(await self._admin.retry(checked_job_id(request.job_id), by=_caller()))

    async def RetryJobs(self, request: RetryJobsRequest, context: Context) -> RetryJobsResponse:
        """Enqueues again all failed jobs that fit."""
        which = JobFilter(queue=request.queue, task=request.task or None)
        if request.HasField("failed_since"):
            since = messages.time_of(request.failed_since, "failed_since")
            retried = await retry_failed_since(self._admin, which, since, by=_caller())
        else:
            retried = await self._admin.retry_failed(which, by=_caller())
        return RetryJobsResponse(retried=retried)

    async def ListJobEvents(self, request: ListJobEventsRequest, context: Context) -> ListJobEventsResponse:
        """Returns the journal of a job.

        Raises:
            NotFound: JOB_NOT_FOUND.
            Unavailable: DRAINING.
        """
        job_id = checked_job_id(request.job_id)
        answer = ListJobEventsResponse()
        after = 0
        while True:
            events = await self._admin.list_events(job_id, after=after, limit=_EVENTS_PAGE)
            answer.events.extend(messages.event_message(job_id, event) for event in events)
            if len(events) < _EVENTS_PAGE:
                return answer
            after = events[-1].event_id

    async def ListQueues(self, request: ListQueuesRequest, context: Context) -> ListQueuesResponse:
        """Returns the queues by name."""
        minute = await self._admin.queues(window_s=_MINUTE_S)
        hour = {stats.queue: stats for stats in await self._admin.queues(window_s=_HOUR_S)}
        return ListQueuesResponse(queues=[messages.queue_message(each, hour.get(each.queue)) for each in minute])

    async def PauseQueue(self, request: PauseQueueRequest, context: Context) -> job_pb2.Queue:
        """Starts no more jobs of a queue."""
        await self._admin.pause_queue(request.queue, by=_caller())
        return await self._queue(request.queue)

    async def ResumeQueue(self, request: ResumeQueueRequest, context: Context) -> job_pb2.Queue:
        """Lets a paused queue go on."""
        await self._admin.resume_queue(request.queue, by=_caller())
        return await self._queue(request.queue)

    async def GetLocks(self, request: GetLocksRequest, context: Context) -> GetLocksResponse:
        """Returns who holds which lock key, the longest held first."""
        return GetLocksResponse(locks=[messages.lock_message(lock) for lock in await list_lock_states(self._db)])

    async def _queue(self, queue: str) -> job_pb2.Queue:
        minute = await self._admin.queues(queue=queue, window_s=_MINUTE_S)
        hour = await self._admin.queues(queue=queue, window_s=_HOUR_S)
        if not minute:
            return job_pb2.Queue(queue=queue)
        return messages.queue_message(minute[0], hour[0] if hour else None)


def job_servicer(db: Database, store: JobStore) -> Servicer:
    """Returns JobService for the runner of a service."""
    service = JobService(db, store)
    return replace(Servicer.of(add_JobServiceServicer_to_server, service), drain=service.drain)


def _caller() -> str:
    call = current_call()
    return call.caller if call is not None else "-"


def _read_token(token: str) -> Any:
    try:
        return checked_job_id(token)
    except InvalidArgument as error:
        raise refusal([FieldViolation("page_token", "is no token that ListJobs gave")]) from error
