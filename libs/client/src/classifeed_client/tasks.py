"""Calls for tasks, the loads of feeds."""

# Written from aio/tasks.py by `make stubs`: change it there.

from __future__ import annotations

from collections.abc import Iterator

from classifeed.feeds.v1 import load_pb2, task_pb2, task_service_pb2
from classifeed_client.connection import Connection
from classifeed_client.requests import next_page


class TaskCalls(Connection):
    """Reads, cancels and repeats tasks, and confirms or rejects held ones."""

    def get_task(self, name: str) -> task_pb2.Task:
        """Return a task by its resource name."""
        return self._call(self._feeds.GetTask, task_service_pb2.GetTaskRequest(name=name), task_pb2.Task)

    def confirm_task(self, name: str) -> task_pb2.Task:
        """Confirm a held task, so that all its changes are applied; return the task, which then continues."""
        return self._call(self._feeds.ConfirmTask, task_service_pb2.ConfirmTaskRequest(name=name), task_pb2.Task)

    def reject_task(self, name: str) -> task_pb2.Task:
        """Reject a held task, so that it completes without the held changes; return the task, which then continues."""
        return self._call(self._feeds.RejectTask, task_service_pb2.RejectTaskRequest(name=name), task_pb2.Task)

    def cancel_task(self, name: str) -> task_pb2.Task:
        """Cancel a task that has not sent its end, and return it. Idempotent."""
        return self._call(self._feeds.CancelTask, task_service_pb2.CancelTaskRequest(name=name), task_pb2.Task)

    def rerun_task(
        self, name: str, *, request_id: str = "", allow_removals: bool = False, allow_changes: bool = False
    ) -> task_pb2.Task:
        """Load the file of an earlier task again; return the new task. A repeated request_id returns the same task."""
        request = task_service_pb2.RerunTaskRequest(
            name=name, request_id=request_id, allow_removals=allow_removals, allow_changes=allow_changes
        )
        return self._call(self._feeds.RerunTask, request, task_pb2.Task)

    def watch_task(self, name: str, *, timeout_s: float) -> Iterator[task_pb2.Task]:
        """Yield the task at each change until it is complete or held."""
        request = task_service_pb2.GetTaskRequest(name=name)
        return self._stream(self._feeds.WatchTask, request, task_pb2.Task, timeout_s)

    def iter_tasks(self, parent: str) -> Iterator[task_pb2.Task]:
        """Yield the tasks of a namespace, the newest first, over all pages."""
        return self._items(lambda token: self.list_tasks(parent, page_token=token), "tasks", task_pb2.Task)

    def list_tasks(
        self, parent: str, *, page_size: int = 0, page_token: str = ""
    ) -> task_service_pb2.ListTasksResponse:
        """Return a page of the tasks of a namespace, the newest first."""
        request = task_service_pb2.ListTasksRequest(parent=parent, page_size=page_size, page_token=page_token)
        return self._call(self._feeds.ListTasks, request, task_service_pb2.ListTasksResponse)

    def list_offer_errors(
        self, request: task_service_pb2.ListOfferErrorsRequest
    ) -> task_service_pb2.ListOfferErrorsResponse:
        """Return a page of the errors in a task's offers."""
        return self._call(self._feeds.ListOfferErrors, request, task_service_pb2.ListOfferErrorsResponse)

    def export_offer_errors(
        self, request: task_service_pb2.ExportOfferErrorsRequest, *, timeout_s: float
    ) -> Iterator[task_service_pb2.ExportOfferErrorsResponse]:
        """Yield a file with all errors in a task's offers, in pieces."""
        return self._stream(
            self._feeds.ExportOfferErrors, request, task_service_pb2.ExportOfferErrorsResponse, timeout_s
        )

    def iter_offer_errors(self, request: task_service_pb2.ListOfferErrorsRequest) -> Iterator[load_pb2.OfferError]:
        """Yield the errors in a task's offers, over all pages; the request's page token is ignored."""
        return self._items(
            lambda token: self.list_offer_errors(next_page(request, token)), "errors", load_pb2.OfferError
        )
