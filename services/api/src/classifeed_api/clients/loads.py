"""What the processor remembers of loads, as an explanation needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.task_pb2 import TASK_KIND_DELETE, Task
from classifeed.feeds.v1.task_service_pb2 import (
    GetTaskRequest,
    ListOfferErrorsRequest,
    ListTasksRequest,
    LocateOfferRequest,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_api.clients.asking import ask
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.explain.facts import Look

_NEWEST: Final = 20


class LoadsClient:
    """Reads tasks, and what they say of one offer.

    Args:
        tasks: of the processor.
        timeout_s: the longest wait for anything but the reading of a file, in seconds.
    """

    def __init__(self, tasks: TaskServiceStub, *, timeout_s: float) -> None:
        self._tasks = tasks
        self._timeout_s = timeout_s

    async def list_newest(self, parent: str) -> Sequence[Task] | Unknown:
        """Return the newest tasks of a namespace, the newest first."""
        request = ListTasksRequest(parent=parent, page_size=_NEWEST)
        answer = await ask(self._tasks.ListTasks(request, timeout=self._timeout_s), "tasks")
        return UNKNOWN if answer is None or answer is UNKNOWN else answer.tasks

    async def find(self, parent: str, task_id: int) -> Task | None:
        """Return a task; None when it is forgotten or cannot be asked for."""
        request = GetTaskRequest(name=f"{parent}/tasks/{task_id}")
        answer = await ask(self._tasks.GetTask(request, timeout=self._timeout_s), "task")
        return None if answer is UNKNOWN else answer

    async def look(self, task: Task, external_id: str, *, reading_s: float) -> Look:
        """Return what is known of an offer in the file of a task.

        Args:
            task: the task.
            external_id: the seller's id of the offer.
            reading_s: how long the file may be read, in seconds.
        """
        if task.kind == TASK_KIND_DELETE:
            return Look(task, UNKNOWN, UNKNOWN)
        locating = LocateOfferRequest(parent=task.name, external_id=external_id)
        location, issues = await asyncio.gather(
            ask(self._tasks.LocateOffer(locating, timeout=reading_s), "place in the file"),
            self._list_issues(task, external_id),
        )
        return Look(task, UNKNOWN if location is None else location, issues)

    async def _list_issues(self, task: Task, external_id: str) -> Sequence[OfferError] | Unknown:
        request = ListOfferErrorsRequest(parent=task.name, external_id=external_id)
        answer = await ask(self._tasks.ListOfferErrors(request, timeout=self._timeout_s), "issues")
        return UNKNOWN if answer is None or answer is UNKNOWN else answer.errors
