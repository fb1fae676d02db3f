"""Methods about tasks: create, decide, cancel, rerun and read."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT, HoldDecision
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import (
    CancelTaskRequest,
    ConfirmTaskRequest,
    CreateTaskRequest,
    FindTasksRequest,
    FindTasksResponse,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    RejectTaskRequest,
    RerunTaskRequest,
)
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import read_page_values, write_page_values
from classifeed_common.telemetry.tracing import describe_span
from classifeed_domain.namespace_names import parse_namespace
from classifeed_jobs import JobStore
from classifeed_processor.app.tasks.cancel_task import cancel_task
from classifeed_processor.app.tasks.create_task import create_task, keep_source
from classifeed_processor.app.tasks.decide_task import decide_task
from classifeed_processor.app.tasks.rerun_task import rerun_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.rpc.task_service.requests import (
    invalid_field,
    require_task,
    task_key,
)
from classifeed_processor.store import reading

_DEFAULT_PAGE_TASKS: Final = 50
_LAST_TASK_ID: Final = (1 << 63) - 1


class TaskMethods:
    """Methods that change and read tasks.

    Args:
        database: database of the tasks.
        jobs: job store of the tasks' jobs.
        blobs: object store of the files.
    """

    def __init__(self, database: Database, jobs: JobStore, blobs: BlobStore) -> None:
        self._database = database
        self._jobs = jobs
        self._blobs = blobs

    async def CreateTask(self, request: CreateTaskRequest, context: Context) -> Task:
        """Create a task, or return the existing one of the upload, fetch or removal, or an equivalent load.

        Raises:
            InvalidArgument: the request is not for exactly one of the three.
            AlreadyExists: it has a task for another file, namespace or mode.
            Unavailable: the file cannot be stored now; try again.
        """
        key = await create_task(self._database, self._jobs, request, timeout_s=remaining_s())
        describe_span(seller=key.seller_id, namespace=key.namespace, task=key.task_id)
        await keep_source(self._blobs, request)
        return await self._read_task(key)

    async def ConfirmTask(self, request: ConfirmTaskRequest, context: Context) -> Task:
        """Confirm a held task, so that all of its changes are applied.

        Raises:
            NotFound: the task does not exist.
            FailedPrecondition: the task was rejected, or is not held.
        """
        return await self._decide(request.name, HOLD_DECISION_CONFIRM)

    async def RejectTask(self, request: RejectTaskRequest, context: Context) -> Task:
        """Reject a held task, so that it ends without the changes that it is held for.

        Raises:
            NotFound: the task does not exist.
            FailedPrecondition: the task was confirmed, or is not held.
        """
        return await self._decide(request.name, HOLD_DECISION_REJECT)

    async def CancelTask(self, request: CancelTaskRequest, context: Context) -> Task:
        """Cancel a task before it has sent TaskEnd, and return it.

        Raises:
            NotFound: the task does not exist.
            FailedPrecondition: the task is held, has sent TaskEnd, or has ended.
        """
        key = task_key("name", request.name)
        await cancel_task(self._database, key, timeout_s=remaining_s())
        return await self._read_task(key)

    async def RerunTask(self, request: RerunTaskRequest, context: Context) -> Task:
        """Create a task that loads the file of an earlier task again, and return it.

        Raises:
            NotFound: the earlier task does not exist.
            FailedPrecondition: it has not ended, has no file, its file is gone, or its namespace was removed since.
            InvalidArgument: the request_id was used for another task.
            Unavailable: the object store does not respond; try again.
        """
        key = await rerun_task(
            self._database,
            self._jobs,
            self._blobs,
            task_key("name", request.name),
            request_id=request.request_id.lower() or None,
            allow_removals=request.allow_removals,
            allow_changes=request.allow_changes,
            timeout_s=remaining_s(),
        )
        return await self._read_task(key)

    async def GetTask(self, request: GetTaskRequest, context: Context) -> Task:
        """Return a task with its statistics.

        Raises:
            NotFound: the task does not exist.
        """
        return await self._read_task(task_key("name", request.name))

    async def ListTasks(self, request: ListTasksRequest, context: Context) -> ListTasksResponse:
        """Return a page of a namespace's tasks, the newest first."""
        try:
            seller_id, namespace = parse_namespace(request.parent)
        except ValueError as error:
            raise invalid_field("parent", str(error)) from error
        limit = request.page_size or _DEFAULT_PAGE_TASKS
        (before,) = read_page_values(request.page_token, (_LAST_TASK_ID,))
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            tasks = await reading.list_tasks(tx, seller_id, namespace, before=before, limit=limit + 1)
        token = write_page_values(tasks[limit - 1].task_id) if len(tasks) > limit else ""
        return ListTasksResponse(tasks=tasks[:limit], next_page_token=token)

    async def FindTasks(self, request: FindTasksRequest, context: Context) -> FindTasksResponse:
        """Return the names of the tasks that exist, and on request their state."""
        keys = [task_key("names", name) for name in request.names]
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            if request.with_tasks:
                tasks = await reading.list_standings(tx, keys)
                return FindTasksResponse(names=[task.name for task in tasks], tasks=tasks)
            found = await reading.list_known(tx, keys)
        return FindTasksResponse(names=[key.name for key in found])

    async def _read_task(self, key: TaskKey) -> Task:
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            return await require_task(tx, key)

    async def _decide(self, name: str, decision: HoldDecision) -> Task:
        key = task_key("name", name)
        await decide_task(self._database, self._jobs, key, decision, timeout_s=remaining_s())
        return await self._read_task(key)
