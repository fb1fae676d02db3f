"""Client of the processor's TaskService."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import grpc

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.format_pb2 import ListFormatsRequest
from classifeed.feeds.v1.task_service_pb2 import (
    CreateTaskRequest,
    FindTasksRequest,
    GetTaskRequest,
    ListOfferErrorsRequest,
    ListTasksRequest,
    LocateOfferRequest,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_api.clients.asking import ask
from classifeed_api.domain.feeds import FeedDeletion
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.domain.uploads import Upload
from classifeed_api.explain.facts import Look
from classifeed_common.rpc.call import remaining_s

# For optional data: the call continues without it.
_SHORT_S: Final = 2.0
_STANDINGS_S: Final = 1.0
_SHARE: Final = 0.5
_NEWEST: Final = 20
# Maximum number of names per call.
_NAMES: Final = 1000


class ProcessorClient:
    """Creates tasks at the processor, and reads tasks, formats and offers in files.

    Attributes:
        stub: stub for calls that are passed on unchanged.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.stub = TaskServiceStub(channel)

    async def load_upload(self, upload: Upload) -> int:
        """Return the id of the task that loads the upload; idempotent by the upload's id.

        Raises:
            grpc.aio.AioRpcError: the error that the processor returned.
        """
        task = await self.stub.CreateTask(
            CreateTaskRequest(
                kind=task_pb2.TASK_KIND_LOAD,
                seller_id=upload.seller_id,
                namespace=upload.namespace,
                upload_id=str(upload.upload_id),
                source_sha256=upload.sha256,
                source_bytes=upload.size_bytes,
                file_name=upload.file_name,
                mode=load_pb2.LoadMode.Name(upload.mode),
                disposition=load_pb2.Disposition.Name(upload.disposition),
                allow_removals=upload.allow_removals,
                allow_changes=upload.allow_changes,
                default_currency=upload.default_currency,
            )
        )
        return int(task.task_id)

    async def list_formats(self) -> Sequence[str] | Unknown:
        """Return the names of all formats; UNKNOWN if the processor does not respond soon."""
        response = await ask(self.stub.ListFormats(ListFormatsRequest(), timeout=_timeout_s(_SHORT_S)), "formats")
        return UNKNOWN if response is None or response is UNKNOWN else [each.format for each in response.formats]

    async def delete_offers(self, deletion: FeedDeletion) -> int:
        """Return the id of the task that removes a removed feed's offers; idempotent by namespace and version.

        Raises:
            grpc.aio.AioRpcError: the error that the processor returned.
        """
        task = await self.stub.CreateTask(
            CreateTaskRequest(
                kind=task_pb2.TASK_KIND_DELETE,
                seller_id=deletion.key.seller_id,
                namespace=deletion.key.namespace,
                feed_version=deletion.version,
                disposition=load_pb2.Disposition.Name(deletion.disposition),
            )
        )
        return int(task.task_id)

    async def list_newest(
        self, key: NamespaceKey, *, timeout_s: float | None = None
    ) -> Sequence[task_pb2.Task] | Unknown:
        """Return the newest tasks of a namespace, newest first; UNKNOWN if there is no response in time.

        Args:
            key: the namespace.
            timeout_s: timeout in seconds; None: a short one, at most half of the caller's remaining time.
        """
        request = ListTasksRequest(parent=key.name, page_size=_NEWEST)
        longest_s = _timeout_s(_SHORT_S) if timeout_s is None else timeout_s
        response = await ask(self.stub.ListTasks(request, timeout=longest_s), "newest loads")
        return UNKNOWN if response is None or response is UNKNOWN else list(response.tasks)

    async def find_task(self, key: NamespaceKey, task_id: int, *, timeout_s: float) -> task_pb2.Task | None:
        """Return a task; None if it no longer exists or there is no response in time."""
        request = GetTaskRequest(name=f"{key.name}/tasks/{task_id}")
        response = await ask(self.stub.GetTask(request, timeout=timeout_s), "task")
        return None if response is UNKNOWN else response

    async def look(self, task: task_pb2.Task, external_id: str, *, timeout_s: float, reading_s: float) -> Look:
        """Return what the processor knows about an offer in the file of a task.

        Args:
            task: the task.
            external_id: the seller's id of the offer.
            timeout_s: timeout of reading its issues, in seconds.
            reading_s: timeout of reading the file, in seconds.
        """
        if task.kind == task_pb2.TASK_KIND_DELETE:
            return Look(task, UNKNOWN, UNKNOWN)
        locating = LocateOfferRequest(parent=task.name, external_id=external_id)
        listing = ListOfferErrorsRequest(parent=task.name, external_id=external_id)
        location, issues = await asyncio.gather(
            ask(self.stub.LocateOffer(locating, timeout=reading_s), "place in the file"),
            ask(self.stub.ListOfferErrors(listing, timeout=timeout_s), "issues"),
        )
        return Look(
            task,
            UNKNOWN if location is None else location,
            UNKNOWN if issues is None or issues is UNKNOWN else issues.errors,
        )

    async def find_newest(self, key: NamespaceKey) -> int:
        """Return the id of the namespace's newest task; 0 if there is none.

        Raises:
            grpc.aio.AioRpcError: the error that the processor returned.
        """
        newest = (await self.stub.ListTasks(ListTasksRequest(parent=key.name, page_size=1))).tasks
        return int(newest[0].task_id) if newest else 0

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        """Return the names of the tasks that exist, of at most 1,000.

        Raises:
            grpc.aio.AioRpcError: the error that the processor returned.
        """
        if not names:
            return set()
        return set((await self.stub.FindTasks(FindTasksRequest(names=names))).names)

    async def list_standings(self, names: Collection[str]) -> Mapping[str, task_pb2.Task]:
        """Return tasks by resource name, of at most 1,000; unknown ones are left out.

        The result is empty if the processor does not respond soon.
        """
        request = FindTasksRequest(names=sorted(names)[:_NAMES], with_tasks=True)
        response = await ask(self.stub.FindTasks(request, timeout=_timeout_s(_STANDINGS_S)), "loads of fetches")
        return {} if response is None or response is UNKNOWN else {task.name: task for task in response.tasks}


def _timeout_s(longest_s: float) -> float:
    left_s = remaining_s()
    return longest_s if left_s is None else min(longest_s, left_s * _SHARE)
