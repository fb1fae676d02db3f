"""Methods about tasks and what is wrong with their offers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.task_service_pb2 import (
    GetTaskRequest,
    ListOfferErrorsRequest,
    ListOfferErrorsResponse,
    ListTasksRequest,
    ListTasksResponse,
)
from classifeed_api.rpc.methods import Context, Methods

_RESTING: Final = frozenset(task_pb2.TaskStatus.values()) - {
    task_pb2.TASK_STATUS_UNSPECIFIED,
    task_pb2.TASK_STATUS_IN_PROGRESS,
}


class TaskMethods(Methods):
    """The processor has the tasks."""

    async def GetTask(self, request: GetTaskRequest, context: Context) -> task_pb2.Task:
        """Asks the processor."""
        return await self._parts.tasks.GetTask(request)

    async def ListTasks(self, request: ListTasksRequest, context: Context) -> ListTasksResponse:
        """Asks the processor."""
        return await self._parts.tasks.ListTasks(request)

    async def ListOfferErrors(self, request: ListOfferErrorsRequest, context: Context) -> ListOfferErrorsResponse:
        """Asks the processor."""
        return await self._parts.tasks.ListOfferErrors(request)

    async def WatchTask(self, request: GetTaskRequest, context: Context) -> AsyncIterator[task_pb2.Task]:
        """Asks the processor again and again, and passes on what changed."""
        last = None
        while True:
            task = await self._parts.tasks.GetTask(request)
            if task != last:
                yield task
                last = task
            if task.status in _RESTING:
                return
            await asyncio.sleep(self._parts.settings.watch_interval_s)
