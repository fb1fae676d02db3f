"""Methods of JobService for queues, workers and lock keys."""

from __future__ import annotations

from typing import Any

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1.job_service_pb2 import (
    GetLocksRequest,
    GetLocksResponse,
    ListQueuesRequest,
    ListQueuesResponse,
    ListWorkersRequest,
    ListWorkersResponse,
    PauseQueueRequest,
    ResumeQueueRequest,
    SetQueueLimitsRequest,
)
from classifeed_common.http.api.checking import checked
from classifeed_common.rpc.context import Context
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.queue_requests import LimitsBody, checked_worker_token
from classifeed_jobs.api.requests import DEFAULT_PAGE, MAX_LOCKS, checked_queue
from classifeed_jobs.api.rpc import messages
from classifeed_jobs.api.rpc.methods import caller_name


class QueueMethods:
    """Methods for queues, workers and lock keys."""

    def __init__(self, admin: JobAdmin) -> None:
        self._admin = admin

    async def ListQueues(self, request: ListQueuesRequest, context: Context) -> ListQueuesResponse:
        """Return the queues by name."""
        return ListQueuesResponse(queues=[messages.queue_message(stats) for stats in await self._admin.queues()])

    async def PauseQueue(self, request: PauseQueueRequest, context: Context) -> job_pb2.Queue:
        """Pause a queue; its running jobs continue."""
        queue = checked_queue(request.queue)
        await self._admin.pause_queue(queue, by=caller_name())
        return messages.queue_message(await self._admin.queue(queue))

    async def ResumeQueue(self, request: ResumeQueueRequest, context: Context) -> job_pb2.Queue:
        """Resume a paused queue."""
        queue = checked_queue(request.queue)
        await self._admin.resume_queue(queue, by=caller_name())
        return messages.queue_message(await self._admin.queue(queue))

    async def SetQueueLimits(self, request: SetQueueLimitsRequest, context: Context) -> job_pb2.Queue:
        """Replace the limits of a queue."""
        body = checked(LimitsBody, _limits_of(request))
        queue = checked_queue(request.queue)
        await self._admin.set_limits(queue, body.to_limits(), by=caller_name())
        return messages.queue_message(await self._admin.queue(queue))

    async def ListWorkers(self, request: ListWorkersRequest, context: Context) -> ListWorkersResponse:
        """Return a page of worker processes by id."""
        page = await self._admin.list_workers(
            after=checked_worker_token(request.page_token) if request.page_token else "",
            limit=request.page_size or DEFAULT_PAGE,
        )
        return ListWorkersResponse(
            workers=[messages.worker_message(worker) for worker in page.workers], next_page_token=page.next_after or ""
        )

    async def GetLocks(self, request: GetLocksRequest, context: Context) -> GetLocksResponse:
        """Return the holder of each lock key, the longest held first."""
        locks = await self._admin.list_locks(limit=MAX_LOCKS)
        return GetLocksResponse(locks=[messages.lock_message(lock) for lock in locks])


def _limits_of(request: SetQueueLimitsRequest) -> dict[str, Any]:
    """Return the values of a LimitsBody; 0 means no limit."""
    return {name: getattr(request, name) or None for name in LimitsBody.model_fields}
