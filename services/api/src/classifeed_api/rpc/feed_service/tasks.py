"""Methods for tasks and the issues of their offers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from typing import Final, TypeVar
from uuid import uuid4

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.task_service_pb2 import (
    CancelTaskRequest,
    ConfirmTaskRequest,
    ExportOfferErrorsRequest,
    ExportOfferErrorsResponse,
    GetTaskRequest,
    ListOfferErrorsRequest,
    ListOfferErrorsResponse,
    ListTasksRequest,
    ListTasksResponse,
    RejectTaskRequest,
    RerunTaskRequest,
)
from classifeed_api.clients.processor import ProcessorClient
from classifeed_common.errors import Unavailable
from classifeed_common.loops import race
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.idle_readers import disconnect_idle

Response = TypeVar("Response")
_WATCH_INTERVAL_S: Final = 0.25
_RESTING: Final = frozenset(task_pb2.TaskStatus.values()) - {
    task_pb2.TASK_STATUS_UNSPECIFIED,
    task_pb2.TASK_STATUS_IN_PROGRESS,
}


class TaskMethods:
    """Methods for tasks, which the processor keeps.

    Args:
        processor: client for tasks.
    """

    def __init__(self, processor: ProcessorClient) -> None:
        self._processor = processor
        self._draining = asyncio.Event()

    def drain(self) -> None:
        """End all watches at once, so that stopping does not wait for them; clients watch another replica."""
        self._draining.set()

    async def GetTask(self, request: GetTaskRequest, context: Context) -> task_pb2.Task:
        """Pass the call on to the processor."""
        return await self._processor.stub.GetTask(request)

    async def ConfirmTask(self, request: ConfirmTaskRequest, context: Context) -> task_pb2.Task:
        """Pass the call on to the processor."""
        return await self._processor.stub.ConfirmTask(request)

    async def RejectTask(self, request: RejectTaskRequest, context: Context) -> task_pb2.Task:
        """Pass the call on to the processor."""
        return await self._processor.stub.RejectTask(request)

    async def ListTasks(self, request: ListTasksRequest, context: Context) -> ListTasksResponse:
        """Pass the call on to the processor."""
        return await self._processor.stub.ListTasks(request)

    async def ListOfferErrors(self, request: ListOfferErrorsRequest, context: Context) -> ListOfferErrorsResponse:
        """Pass the call on to the processor."""
        return await self._processor.stub.ListOfferErrors(request)

    async def ExportOfferErrors(
        self, request: ExportOfferErrorsRequest, context: Context
    ) -> AsyncIterator[ExportOfferErrorsResponse]:
        """Pass on the processor's pieces; a client that reads none for a while is disconnected."""
        call = self._processor.stub.ExportOfferErrors(request)
        try:
            async with aclosing(disconnect_idle(aiter(call))) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            call.cancel()

    async def CancelTask(self, request: CancelTaskRequest, context: Context) -> task_pb2.Task:
        """Pass the call on to the processor."""
        return await self._processor.stub.CancelTask(request)

    async def RerunTask(self, request: RerunTaskRequest, context: Context) -> task_pb2.Task:
        """Pass the call on to the processor with a request_id, so that a retry on the way creates one load only."""
        request.request_id = request.request_id or str(uuid4())
        return await self._processor.stub.RerunTask(request)

    async def WatchTask(self, request: GetTaskRequest, context: Context) -> AsyncIterator[task_pb2.Task]:
        """Poll the processor and yield the task whenever it changes.

        Raises:
            Unavailable: DRAINING.
        """
        last = None
        while True:
            task = await self._unless_draining(self._processor.stub.GetTask(request))
            if task != last:
                yield task
                last = task
            if task.status in _RESTING:
                return
            await self._unless_draining(asyncio.sleep(_WATCH_INTERVAL_S))

    async def _unless_draining(self, awaited: Awaitable[Response]) -> Response:
        """Return the result of `awaited`; stop waiting when this process drains."""
        [response] = await race(self._draining, awaited)
        if response.cancelled():
            raise Unavailable(
                "DRAINING", "The service is stopping; the load continues. Watch it again.", retry_after_s=1
            )
        return response.result()
