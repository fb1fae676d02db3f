"""Client of the processor's TaskService."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import grpc.aio

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest, FindTasksRequest
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_common.rpc.status import from_rpc_error
from classifeed_loader.domain.faults import LoadFailed
from classifeed_loader.domain.fetches import FetchKey, StoredFile
from classifeed_loader.domain.sources import Source

# A retry would be refused again. All other codes may be transient, or an operator has to fix the cause.
_LASTING: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.OUT_OF_RANGE,
    }
)


class ProcessorClient:
    """Creates tasks and finds existing ones."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = TaskServiceStub(channel)

    async def create_task(self, key: FetchKey, source: Source, file: StoredFile, *, forced: bool) -> task_pb2.Task:
        """Return the task that loads the file of the fetch, or that loaded the same bytes before; idempotent by fetch.

        Raises:
            LoadFailed: TASK_REFUSED.
            grpc.aio.AioRpcError: the processor is unavailable; the job is retried.
        """
        request = CreateTaskRequest(
            seller_id=key.seller_id,
            namespace=key.namespace,
            kind=task_pb2.TASK_KIND_LOAD,
            source_sha256=file.sha256,
            source_bytes=file.size_bytes,
            mode=source.mode,  # type: ignore[arg-type]
            disposition=source.disposition,  # type: ignore[arg-type]
            format=source.format,
            default_currency=source.default_currency,
            feed_version=source.feed_version,
            feed_loader_task_id=source.feed_loader_task_id,
            feed_loader_result_id=key.fetch_id,
            skip_if_loaded=not forced,
        )
        try:
            return await self._stub.CreateTask(request)
        except grpc.aio.AioRpcError as error:
            if error.code() in _LASTING:
                reason = from_rpc_error(error).message.rstrip(".")
                raise LoadFailed("TASK_REFUSED", f"The file cannot be loaded: {reason}") from error
            raise

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        """Return the names of the tasks that exist, of at most 1,000.

        Raises:
            grpc.aio.AioRpcError: the processor is unavailable.
        """
        if not names:
            return set()
        return set((await self._stub.FindTasks(FindTasksRequest(names=names))).names)
