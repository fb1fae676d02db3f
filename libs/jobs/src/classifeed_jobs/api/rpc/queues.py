"""The queues of a service, and its lock keys."""

from __future__ import annotations

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1.job_service_pb2 import (
    GetLocksRequest,
    GetLocksResponse,
    ListQueuesRequest,
    ListQueuesResponse,
    PauseQueueRequest,
    ResumeQueueRequest,
)
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.requests import MAX_LOCKS, checked_queue
from classifeed_jobs.api.rpc import messages
from classifeed_jobs.api.rpc.methods import Context, caller_name


class QueueMethods:
    """How queues do, and who holds which lock key."""

    def __init__(self, admin: JobAdmin) -> None:
        self._admin = admin

    async def ListQueues(self, request: ListQueuesRequest, context: Context) -> ListQueuesResponse:
        """Return the queues by name."""
        return ListQueuesResponse(queues=[messages.queue_message(stats) for stats in await self._admin.queues()])

    async def PauseQueue(self, request: PauseQueueRequest, context: Context) -> job_pb2.Queue:
        """Start no more jobs of a queue."""
        queue = checked_queue(request.queue)
        await self._admin.pause_queue(queue, by=caller_name())
        return messages.queue_message(await self._admin.queue(queue))

    async def ResumeQueue(self, request: ResumeQueueRequest, context: Context) -> job_pb2.Queue:
        """Lets a paused queue go on."""
        queue = checked_queue(request.queue)
        await self._admin.resume_queue(queue, by=caller_name())
        return messages.queue_message(await self._admin.queue(queue))

    async def GetLocks(self, request: GetLocksRequest, context: Context) -> GetLocksResponse:
        """Return who holds which lock key, the longest held first."""
        locks = await self._admin.list_locks(limit=MAX_LOCKS)
        return GetLocksResponse(locks=[messages.lock_message(lock) for lock in locks])
