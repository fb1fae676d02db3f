"""TaskService: makes tasks, and reads what became of them."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Final, TypeAlias

import grpc.aio

from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT, HoldDecision
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import (
    CancelTaskRequest,
    ConfirmTaskRequest,
    CreateTaskRequest,
    FindTasksRequest,
    FindTasksResponse,
    GetTaskRequest,
    ListOfferErrorsRequest,
    ListOfferErrorsResponse,
    ListTasksRequest,
    ListTasksResponse,
    LocateOfferRequest,
    OfferLocation,
    RejectTaskRequest,
    RerunTaskRequest,
    UnlistedIssues,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceServicer
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.call import remaining_s
from classifeed_common.telemetry.tracing import describe_span
from classifeed_domain.namespace_names import parse_namespace
from classifeed_jobs import JobStore
from classifeed_processor.app.cancel_task import cancel_task
from classifeed_processor.app.create_task import create_task, keep_source
from classifeed_processor.app.decide_task import decide_task
from classifeed_processor.app.locate_offer import OfferLocator
from classifeed_processor.app.rerun_task import rerun_task
from classifeed_processor.domain.statistics import unlisted_of
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.rpc.format_files import FormatFiles
from classifeed_processor.store import reading

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
_DEFAULT_PAGE_TASKS: Final = 50
_DEFAULT_PAGE_ERRORS: Final = 100
_LAST_TASK_ID: Final = (1 << 63) - 1


class TaskService(FormatFiles, TaskServiceServicer):
    """Reads and writes the tables of tasks and issues."""

    def __init__(self, database: Database, jobs: JobStore, blobs: BlobStore, locator: OfferLocator) -> None:
        self._database = database
        self._blobs = blobs
        self._jobs = jobs
        self._locator = locator

    async def CreateTask(self, request: CreateTaskRequest, context: Context) -> Task:
        """Make a task, or return the one that the upload, fetch or removal has, or that makes a new one needless.

        Raises:
            InvalidArgument: the request is not for exactly one of the three.
            AlreadyExists: it has a task for another file, namespace or mode.
            Unavailable: its file cannot be kept now; ask again.
        """
        key = await create_task(self._database, self._jobs, request, timeout_s=remaining_s())
        describe_span(seller=key.seller_id, namespace=key.namespace, task=key.task_id)
        await keep_source(self._blobs, request)
        return await self._read_task(key)

    async def ConfirmTask(self, request: ConfirmTaskRequest, context: Context) -> Task:
        """Has a held task do all that it says.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: it was rejected, or is not held.
        """
        return await self._decide(request.name, HOLD_DECISION_CONFIRM)

    async def RejectTask(self, request: RejectTaskRequest, context: Context) -> Task:
        """Has a held task end without what it is held for.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: it was confirmed, or is not held.
        """
        return await self._decide(request.name, HOLD_DECISION_REJECT)

    async def CancelTask(self, request: CancelTaskRequest, context: Context) -> Task:
        """End a task before it has sent its end, and return it.

        Raises:
            NotFound: there is none.
            FailedPrecondition: it is held, has sent its end, or has ended.
        """
        key = _task_key("name", request.name)
        await cancel_task(self._database, key, timeout_s=remaining_s())
        return await self._read_task(key)

    async def RerunTask(self, request: RerunTaskRequest, context: Context) -> Task:
        """Make a task that loads the file of an earlier one again, and return it.

        Raises:
            NotFound: there is no earlier one.
            FailedPrecondition: it has not ended, has no file, its file is gone, or its namespace was removed since.
            InvalidArgument: the request_id was used for another task.
            Unavailable: the object store does not respond; ask again.
        """
        key = await rerun_task(
            self._database,
            self._jobs,
            self._blobs,
            _task_key("name", request.name),
            request_id=request.request_id.lower() or None,
            allow_removals=request.allow_removals,
            allow_changes=request.allow_changes,
            timeout_s=remaining_s(),
        )
        return await self._read_task(key)

    async def GetTask(self, request: GetTaskRequest, context: Context) -> Task:
        """Return one task with its statistics.

        Raises:
            NotFound: there is none.
        """
        return await self._read_task(_task_key("name", request.name))

    async def ListTasks(self, request: ListTasksRequest, context: Context) -> ListTasksResponse:
        """Return a page of a namespace's tasks, the newest first."""
        try:
            seller_id, namespace = parse_namespace(request.parent)
        except ValueError as error:
            raise _wrong("parent", str(error)) from error
        limit = request.page_size or _DEFAULT_PAGE_TASKS
        (before,) = _read_token(request.page_token, (_LAST_TASK_ID,))
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            tasks = await reading.list_tasks(tx, seller_id, namespace, before=before, limit=limit + 1)
        token = _write_token(tasks[limit - 1].task_id) if len(tasks) > limit else ""
        return ListTasksResponse(tasks=tasks[:limit], next_page_token=token)

    async def ListOfferErrors(self, request: ListOfferErrorsRequest, context: Context) -> ListOfferErrorsResponse:
        """Return a page of a task's issues, errors before warnings, each in the order of the file.

        Raises:
            NotFound: there is no such task.
        """
        key = _task_key("parent", request.parent)
        limit = request.page_size or _DEFAULT_PAGE_ERRORS
        level, line, error_id = _read_token(request.page_token, (0, 0, ""))
        parameters = {
            "after_level": level,
            "after_line": line,
            "after_error_id": error_id,
            "level": request.level,
            "kind": request.kind,
            "code": request.code,
            "external_id": request.external_id,
            "limit": limit + 1,
        }
        if any("\0" in str(parameters[name]) for name in ("code", "external_id")):
            return ListOfferErrorsResponse()
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            task = await _require_task(tx, key)
            errors = await reading.list_errors(tx, key, task.run, parameters)
        token = ""
        if len(errors) > limit:
            last = errors[limit - 1]
            token = _write_token(last.level, last.line, last.error_id)
        unlisted = unlisted_of(task.statistics, level=request.level, kind=request.kind, code=request.code)
        return ListOfferErrorsResponse(
            errors=errors[:limit],
            next_page_token=token,
            unlisted=[UnlistedIssues(code=code, count=count) for code, count in unlisted.items()],
        )

    async def FindTasks(self, request: FindTasksRequest, context: Context) -> FindTasksResponse:
        """Return those of the tasks that there are, and how they stand where that is asked for."""
        keys = [_task_key("names", name) for name in request.names]
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            if request.with_tasks:
                tasks = await reading.find_standings(tx, keys)
                return FindTasksResponse(names=[task.name for task in tasks], tasks=tasks)
            found = await reading.find_tasks(tx, keys)
        return FindTasksResponse(names=[key.name for key in found])

    async def LocateOffer(self, request: LocateOfferRequest, context: Context) -> OfferLocation:
        """Find an offer in the file of a task, by reading the file; one file at a time, the others wait.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: its file is gone.
        """
        task = await self._read_task(_task_key("parent", request.parent))
        return await self._locator.locate(task, request.external_id, timeout_s=remaining_s())

    async def _read_task(self, key: TaskKey) -> Task:
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            return await _require_task(tx, key)

    async def _decide(self, name: str, decision: HoldDecision) -> Task:
        key = _task_key("name", name)
        await decide_task(self._database, self._jobs, key, decision, timeout_s=remaining_s())
        return await self._read_task(key)


async def _require_task(tx: Tx, key: TaskKey) -> Task:
    task = await reading.get_task(tx, key)
    if task is None:
        raise key.not_found()
    return task


def _task_key(field: str, name: str) -> TaskKey:
    try:
        return TaskKey.parse(name)
    except ValueError as error:
        raise _wrong(field, str(error)) from error


def _wrong(field: str, words: str) -> InvalidArgument:
    return InvalidArgument(f"{field.upper()}_INVALID", words, violations=[FieldViolation(field, words)])


def _write_token(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values, ensure_ascii=False).encode()).decode()


def _read_token(token: str, default: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values that a page token carries; `default` for none, and as the pattern of their types."""
    if not token:
        return default
    try:
        values = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError) as error:
        raise _wrong("page_token", "is no token that ListTasks or ListOfferErrors gave") from error
    if not isinstance(values, list) or [type(value) for value in values] != [type(value) for value in default]:
        raise _wrong("page_token", "is a token of another list")
    return tuple(values)
