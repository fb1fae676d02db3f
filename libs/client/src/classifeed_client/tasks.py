"""Calls about loads."""

from __future__ import annotations

from collections.abc import Iterator

from classifeed.feeds.v1 import task_pb2, task_service_pb2
from classifeed_client.aside import stream_aside
from classifeed_client.connection import Connection, translated


class TaskCalls(Connection):
    """Reads what became of loads."""

    def get_task(self, name: str) -> task_pb2.Task:
        """Returns a task by its resource name."""
        return self._call(self._feeds.GetTask, task_service_pb2.GetTaskRequest(name=name), task_pb2.Task)

    def watch_task(self, name: str, *, timeout_s: float) -> Iterator[task_pb2.Task]:
        """Yields the task at each change until it has ended or is held."""
        request = task_service_pb2.GetTaskRequest(name=name)
        with translated():
            yield from stream_aside(lambda: self._feeds.WatchTask(request, **self._options(timeout_s)))

    def list_tasks(
        self, parent: str, *, page_size: int = 0, page_token: str = ""
    ) -> task_service_pb2.ListTasksResponse:
        """Returns a page of the tasks of a namespace, the newest first."""
        request = task_service_pb2.ListTasksRequest(parent=parent, page_size=page_size, page_token=page_token)
        return self._call(self._feeds.ListTasks, request, task_service_pb2.ListTasksResponse)

    def list_offer_errors(
        self, request: task_service_pb2.ListOfferErrorsRequest
    ) -> task_service_pb2.ListOfferErrorsResponse:
        """Returns a page of what is wrong with the offers of a task."""
        return self._call(self._feeds.ListOfferErrors, request, task_service_pb2.ListOfferErrorsResponse)
