"""Calls that upload a file and wait until its load is complete."""

# Written from aio/loads.py by `make stubs`: change it there.

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

from classifeed.feeds.v1 import task_pb2
from classifeed_client.errors import DeadlineExceeded, Unreachable
from classifeed_client.tasks import TaskCalls
from classifeed_client.uploads import UploadCalls

_RETRY_S: Final = 0.5


class LoadCalls(UploadCalls, TaskCalls):
    """Uploads files and waits for their tasks."""

    def load(
        self,
        file: Path,
        *,
        seller_id: str,
        namespace: str = "",
        mode: str = "REPLACE",
        disposition: str = "DELETE",
        force: bool = False,
        allow_removals: bool = False,
        allow_changes: bool = False,
        default_currency: str = "",
        timeout_s: float = 600.0,
        on_change: Callable[[task_pb2.Task], None] | None = None,
    ) -> task_pb2.Task:
        """Upload a file and return its task once it is complete or held: see `status` and `statistics`.

        Args:
            file: Path of the feed, compressed or not.
            seller_id: Seller who owns the offers.
            namespace: Namespace within the seller; empty means default.
            mode: REPLACE or PATCH.
            disposition: Treatment of offers that the file lacks: DELETE or MAKE_MANUAL.
            force: Whether to load even if the namespace has a feed that is fetched by URL.
            allow_removals: Whether to load even if more offers are removed than the guard allows.
            allow_changes: Whether to load even if prices change more than the guard allows, or no offer is available
                any more.
            default_currency: ISO code for amounts without a currency in the file.
            timeout_s: Timeout for the whole call, in seconds.
            on_change: Callback that receives the task at each change.

        Raises:
            OSError: The file cannot be read.
            DeadlineExceeded: The load is not complete within the timeout. If the file was sent, the load continues.
            ApiError: A call did not succeed.
        """
        ends_at = time.monotonic() + timeout_s
        upload = self.upload_feed(
            file,
            seller_id=seller_id,
            namespace=namespace,
            mode=mode,
            disposition=disposition,
            force=force,
            allow_removals=allow_removals,
            allow_changes=allow_changes,
            default_currency=default_currency,
            request_id=str(uuid.uuid4()),
            timeout_s=timeout_s,
        )
        name = self.wait_for_task_name(upload, timeout_s=ends_at - time.monotonic())
        return self.wait_for_task(name, timeout_s=ends_at - time.monotonic(), on_change=on_change)

    def wait_for_task(
        self,
        name: str,
        *,
        timeout_s: float,
        on_change: Callable[[task_pb2.Task], None] | None = None,
        on_silence: Callable[[], None] | None = None,
    ) -> task_pb2.Task:
        """Return a task, by its resource name, once it is complete or held. Calls are retried if a service restarts.

        Args:
            name: Resource name, sellers/{seller}/feeds/{namespace}/tasks/{task}.
            timeout_s: Timeout, in seconds.
            on_change: Callback that receives the task immediately and at each change.
            on_silence: Callback each time the service does not respond.

        Raises:
            DeadlineExceeded: The task is not complete within the timeout; it continues.
            ApiError: A call was refused.
        """
        ends_at = time.monotonic() + timeout_s
        while (left_s := ends_at - time.monotonic()) > 0:
            try:
                for task in self.watch_task(name, timeout_s=left_s):
                    if on_change:
                        on_change(task)
                    if task.status != task_pb2.TASK_STATUS_IN_PROGRESS:
                        return task
            except (Unreachable, DeadlineExceeded):  # the deadline may be that of a call behind the service
                left_s = max(0.0, ends_at - time.monotonic())
                if on_silence and left_s > _RETRY_S:
                    on_silence()
                time.sleep(min(_RETRY_S, left_s))
        raise DeadlineExceeded(
            "TASK_NOT_ENDED",
            f"{name} has not completed within {timeout_s:g} s; it continues. Wait for the same task again.",
            {"task": name},
        )
