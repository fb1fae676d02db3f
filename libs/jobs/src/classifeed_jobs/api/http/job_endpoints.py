"""Endpoints of jobs, queues and workers: they translate requests and call JobAdmin."""

from __future__ import annotations

from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.http.api.checking import refusal
from classifeed_common.http.api.operations import ApiRequest
from classifeed_jobs.admin.queues import QueueStats
from classifeed_jobs.api.http import responses
from classifeed_jobs.api.http.operations import ApiServices, EventsQuery, JobsQuery
from classifeed_jobs.api.requests import MAX_LOCKS, RetryBody, checked_job_id, checked_queue
from classifeed_jobs.model.job import EnqueuedJob


async def trigger_job(services: ApiServices, request: ApiRequest) -> responses.TriggerResponse:
    """Enqueue a job."""
    [enqueued] = await services.admin.trigger([request.body.to_request()], by=request.by)
    return _enqueued(enqueued)


async def trigger_jobs(services: ApiServices, request: ApiRequest) -> responses.TriggerBatchResponse:
    """Enqueue jobs, all or none."""
    enqueued = await services.admin.trigger([job.to_request() for job in request.body.jobs], by=request.by)
    return responses.TriggerBatchResponse(jobs=[_enqueued(each) for each in enqueued])


async def get_job_status(services: ApiServices, request: ApiRequest) -> responses.JobStatus:
    """Return the status of a job."""
    return responses.JobStatus.model_validate(await services.admin.get(checked_job_id(request.path["job_id"])))


async def cancel_job(services: ApiServices, request: ApiRequest) -> responses.CanceledJob:
    """Cancel a job."""
    job = await services.admin.cancel(checked_job_id(request.path["job_id"]), by=request.by)
    return responses.CanceledJob.model_validate(job)


async def retry_job(services: ApiServices, request: ApiRequest) -> responses.JobStatus:
    """Put a failed or canceled job back into its queue."""
    job = await services.admin.retry(checked_job_id(request.path["job_id"]), by=request.by)
    return responses.JobStatus.model_validate(job)


async def retry_jobs(services: ApiServices, request: ApiRequest) -> responses.RetriedJobs:
    """Put all matching failed jobs back into their queue."""
    body: RetryBody = request.body
    retried = await services.admin.retry_failed(body.to_filter(), since=body.failed_since, by=request.by)
    return responses.RetriedJobs(retried=retried)


async def list_jobs(services: ApiServices, request: ApiRequest) -> responses.JobList:
    """List jobs, the newest first."""
    query: JobsQuery = request.query
    try:
        after = checked_job_id(query.page_token) if query.page_token is not None else None
    except InvalidArgument as error:
        raise refusal([FieldViolation("page_token", "must be the next_page_token of a previous page")]) from error
    page = await services.admin.list_jobs(query.to_filter(), status=query.status, after=after, limit=query.page_size)
    return responses.JobList(
        jobs=[responses.JobView.model_validate(job) for job in page.jobs],
        next_page_token=str(page.next_after) if page.next_after is not None else None,
    )


async def list_job_events(services: ApiServices, request: ApiRequest) -> responses.EventList:
    """List the events of a job, in order."""
    query: EventsQuery = request.query
    events = await services.admin.list_events(
        checked_job_id(request.path["job_id"]), after=query.page_token or 0, limit=query.page_size + 1
    )
    page = events[: query.page_size]
    return responses.EventList(
        events=[responses.EventView.model_validate(event) for event in page],
        next_page_token=str(page[-1].event_id) if len(events) > len(page) else None,
    )


async def list_queues(services: ApiServices, _: ApiRequest) -> responses.QueueList:
    """List the queues by name, with their statistics."""
    return responses.QueueList(queues=[_queue(stats) for stats in await services.admin.queues()])


async def pause_queue(services: ApiServices, request: ApiRequest) -> responses.QueueView:
    """Pause a queue; its running jobs continue."""
    queue = checked_queue(request.path["queue"])
    await services.admin.pause_queue(queue, by=request.by)
    return _queue(await services.admin.queue(queue))


async def resume_queue(services: ApiServices, request: ApiRequest) -> responses.QueueView:
    """Resume a paused queue."""
    queue = checked_queue(request.path["queue"])
    await services.admin.resume_queue(queue, by=request.by)
    return _queue(await services.admin.queue(queue))


async def set_queue_limits(services: ApiServices, request: ApiRequest) -> responses.QueueView:
    """Replace the limits of a queue."""
    queue = checked_queue(request.path["queue"])
    await services.admin.set_limits(queue, request.body.to_limits(), by=request.by)
    return _queue(await services.admin.queue(queue))


async def list_workers(services: ApiServices, request: ApiRequest) -> responses.WorkerList:
    """List the worker processes by id."""
    page = await services.admin.list_workers(after=request.query.page_token or "", limit=request.query.page_size)
    workers = [responses.WorkerView.model_validate(worker) for worker in page.workers]
    return responses.WorkerList(workers=workers, next_page_token=page.next_after)


async def list_locks(services: ApiServices, _: ApiRequest) -> responses.LockList:
    """List the held lock keys, with their holders and times."""
    locks = await services.admin.list_locks(limit=MAX_LOCKS)
    return responses.LockList(locks=[responses.LockView.model_validate(lock) for lock in locks])


async def get_health(_: ApiServices, __: ApiRequest) -> responses.Health:
    """Return that the process responds. The database is not used."""
    return responses.Health(status="healthy")


async def get_info(services: ApiServices, _: ApiRequest) -> responses.Info:
    """Return the name, version and environment of the service."""
    return services.info


def _enqueued(enqueued: EnqueuedJob) -> responses.TriggerResponse:
    members = {"job_id": enqueued.job_id, "status": enqueued.status}
    return responses.TriggerResponse.model_validate(
        members | ({"differs": list(enqueued.differs)} if enqueued.differs else {})
    )


def _queue(stats: QueueStats) -> responses.QueueView:
    return responses.QueueView(
        queue=stats.queue,
        paused=stats.paused_at is not None,
        paused_at=stats.paused_at,
        paused_by=stats.paused_by,
        depth=stats.ready + stats.delayed + stats.parked,
        ready=stats.ready,
        delayed=stats.delayed,
        parked=stats.parked,
        running=stats.running,
        oldest_age_s=stats.oldest_s,
        succeeded_per_s=stats.succeeded_per_s,
        failed_per_s=stats.failed_per_s,
        canceled_per_s=stats.canceled_per_s,
        failed_last_hour=stats.failed_last_hour,
        workers=stats.workers,
        concurrency_limit=stats.limits.max_running,
        partition_limit=stats.limits.max_running_per_partition,
        rate_limit=stats.limits.rate_per_s,
        rate_burst=stats.limits.rate_burst,
    )
