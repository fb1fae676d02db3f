"""TaskService: makes tasks, and reads what became of them."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Final, TypeAlias

import grpc.aio

from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import (
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
    UnlistedIssues,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceServicer
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound
from classifeed_common.namespace_names import parse_namespace
from classifeed_common.rpc.call import remaining_s
from classifeed_jobs import JobStore
from classifeed_processor.app.create_task import create_task, keep_source
from classifeed_processor.app.locate_offer import OfferLocator
from classifeed_processor.domain.statistics import unlisted_of
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.rpc.format_files import FormatFiles
from classifeed_processor.store import reading

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
_DEFAULT_PAGE_TASKS: Final = 50
_DEFAULT_PAGE_ERRORS: Final = 100
_LAST_TASK_ID: Final = (1 << 63) - 1


class TaskService(FormatFiles, TaskServiceServicer):
    """Answers from the tables of tasks and issues."""

    def __init__(self, db: Database, jobs: JobStore, blobs: BlobStore, locator: OfferLocator) -> None:
        self._db = db
        self._blobs = blobs
        self._jobs = jobs
        self._locator = locator

    async def CreateTask(self, request: CreateTaskRequest, context: Context) -> Task:
        """Makes a task, or returns the one that the upload, fetch or removal has, or that makes a new one needless.

        Raises:
            InvalidArgument: the request is not for exactly one of the three.
            AlreadyExists: it has a task for another file, namespace or mode.
            Unavailable: its file cannot be kept now; ask again.
        """
        key = await create_task(self._db, self._jobs, request, timeout_s=remaining_s())
        await keep_source(self._blobs, request)
        async with self._db.transaction(timeout_s=remaining_s()) as tx:
            return await _require_task(tx, key)

    async def GetTask(self, request: GetTaskRequest, context: Context) -> Task:
        """Returns one task with its statistics.

        Raises:
            NotFound: there is none.
        """
        async with self._db.transaction(timeout_s=remaining_s()) as tx:
            return await _require_task(tx, _task_key("name", request.name))

    async def ListTasks(self, request: ListTasksRequest, context: Context) -> ListTasksResponse:
        """Returns a page of a namespace's tasks, the newest first."""
        try:
            seller_id, namespace = parse_namespace(request.parent)
        except ValueError as error:
            raise _wrong("parent", str(error)) from error
        limit = request.page_size or _DEFAULT_PAGE_TASKS
        (before,) = _read_token(request.page_token, (_LAST_TASK_ID,))
        async with self._db.transaction(timeout_s=remaining_s()) as tx:
            tasks = await reading.list_tasks(tx, seller_id, namespace, before=before, limit=limit + 1)
        token = _write_token(tasks[limit - 1].task_id) if len(tasks) > limit else ""
        return ListTasksResponse(tasks=tasks[:limit], next_page_token=token)

    async def ListOfferErrors(self, request: ListOfferErrorsRequest, context: Context) -> ListOfferErrorsResponse:
        """Returns a page of a task's issues, errors before warnings, each in the order of the file.

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
        async with self._db.transaction(timeout_s=remaining_s()) as tx:
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
        """Returns those of the tasks that there are."""
        keys = [_task_key("names", name) for name in request.names]
        async with self._db.transaction(timeout_s=remaining_s()) as tx:
            found = await reading.find_tasks(tx, keys)
        return FindTasksResponse(names=[key.name for key in found])

    async def LocateOffer(self, request: LocateOfferRequest, context: Context) -> OfferLocation:
        """Finds an offer in the file of a task, by reading the file; one file at a time, the others wait.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: its file is gone.
        """
        async with self._db.transaction(timeout_s=remaining_s()) as tx:
            task = await _require_task(tx, _task_key("parent", request.parent))
        return await self._locator.locate(task, request.external_id, timeout_s=remaining_s())


async def _require_task(tx: Tx, key: TaskKey) -> Task:
    task = await reading.get_task(tx, key)
    if task is None:
        raise NotFound(
            "TASK_NOT_FOUND",
            f"There is no {key.name}. It may have been removed for its age, or lost with a database that was restored: "
            "then an upload or removal gets a new task within minutes, and the file of a link one at its next fetch. "
            "List the tasks of the namespace; where none has the file, send it again.",
        )
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
    """Returns the values that a page token carries; `default` for none, and as the pattern of their types."""
    if not token:
        return default
    try:
        values = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError) as error:
        raise _wrong("page_token", "is no token that ListTasks or ListOfferErrors gave") from error
    if not isinstance(values, list) or [type(value) for value in values] != [type(value) for value in default]:
        raise _wrong("page_token", "is a token of another list")
    return tuple(values)
