"""Methods about tasks and what is wrong with their offers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Final, TypeVar
from uuid import uuid4

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.task_service_pb2 import (
    CancelTaskRequest,
    ConfirmTaskRequest,
    GetTaskRequest,
    ListOfferErrorsRequest,
    ListOfferErrorsResponse,
    ListTasksRequest,
    ListTasksResponse,
    RejectTaskRequest,
    RerunTaskRequest,
)
from classifeed_api.rpc.methods import Context, Methods, Parts
from classifeed_common.errors import Unavailable

Answer = TypeVar("Answer")
_RESTING: Final = frozenset(task_pb2.TaskStatus.values()) - {
    task_pb2.TASK_STATUS_UNSPECIFIED,
    task_pb2.TASK_STATUS_IN_PROGRESS,
}


class TaskMethods(Methods):
    """The processor has the tasks."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._draining = asyncio.Event()

    def drain(self) -> None:
        """End the watches at once, so that nobody waits for them; whoever watched asks another replica."""
        self._draining.set()

    async def GetTask(self, request: GetTaskRequest, context: Context) -> task_pb2.Task:
        """Asks the processor."""
        return await self._parts.tasks.GetTask(request)

    async def ConfirmTask(self, request: ConfirmTaskRequest, context: Context) -> task_pb2.Task:
        """Asks the processor."""
        return await self._parts.tasks.ConfirmTask(request)

    async def RejectTask(self, request: RejectTaskRequest, context: Context) -> task_pb2.Task:
        """Asks the processor."""
        return await self._parts.tasks.RejectTask(request)

    async def ListTasks(self, request: ListTasksRequest, context: Context) -> ListTasksResponse:
        """Asks the processor."""
        return await self._parts.tasks.ListTasks(request)

    async def ListOfferErrors(self, request: ListOfferErrorsRequest, context: Context) -> ListOfferErrorsResponse:
        """Asks the processor."""
        return await self._parts.tasks.ListOfferErrors(request)

    async def CancelTask(self, request: CancelTaskRequest, context: Context) -> task_pb2.Task:
        """Asks the processor."""
        return await self._parts.tasks.CancelTask(request)

    async def RerunTask(self, request: RerunTaskRequest, context: Context) -> task_pb2.Task:
        """Asks the processor, with a request_id, so that a call that is repeated on the way makes one load."""
        request.request_id = request.request_id or str(uuid4())
        return await self._parts.tasks.RerunTask(request)

    async def WatchTask(self, request: GetTaskRequest, context: Context) -> AsyncIterator[task_pb2.Task]:
        """Asks the processor again and again, and passes on what changed.

        Raises:
            Unavailable: DRAINING.
        """
        last = None
        while True:
            task = await self._unless_draining(self._parts.tasks.GetTask(request))
            if task != last:
                yield task
                last = task
            if task.status in _RESTING:
                return
            await self._unless_draining(asyncio.sleep(self._parts.settings.watch_interval_s))

    async def _unless_draining(self, awaited: Awaitable[Answer]) -> Answer:
        """Return what is awaited, and wait no longer than this process serves."""
        answer, draining = asyncio.ensure_future(awaited), asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait([answer, draining], return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise Unavailable("DRAINING", "The service is stopping; the load goes on. Watch it again.", retry_after_s=1)
        finally:
            answer.cancel()
            draining.cancel()
