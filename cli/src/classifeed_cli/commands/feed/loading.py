"""Uploads, fetches and waits of `feed upload`, `feed add`, `feed run` and `feed remove`."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2, task_pb2
from classifeed_cli.commands.feed.sending import send_when_there_is_room
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.options import feed_options
from classifeed_cli.terminal.interruption import Interruption
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.load_status import load_of
from classifeed_cli.views.progress import LoadProgress
from classifeed_client import Client, DeadlineExceeded, Unreachable

_RETRY_S = 0.5
_POLL_S = 0.2
_NEWEST = 50
_STUCK = "If nothing progresses, `classifeed status` shows what is wrong."
_UNSENT = "the file was not sent completely, so nothing was stored and no offer has changed"


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time at which a command stops waiting."""

    timeout_s: float
    ends_at: float

    @classmethod
    def after(cls, timeout_s: float) -> Deadline:
        """Return a deadline `timeout_s` seconds from now."""
        return cls(timeout_s, time.monotonic() + timeout_s)

    @property
    def left_s(self) -> float:
        """Remaining seconds, never negative."""
        return max(0.0, self.ends_at - time.monotonic())


def load_file(
    client: Client,
    out: Output,
    file: Path,
    *,
    seller_id: str,
    namespace: str,
    mode: str = "REPLACE",
    disposition: str = "DELETE",
    force: bool = False,
    allow_removals: bool = False,
    allow_changes: bool = False,
    currency: str | None = None,
    timeout_s: float = 600,
) -> task_pb2.Task:
    """Upload a file, show its progress, and return its task once it is complete or held.

    Raises:
        CommandError: The wait timed out, or was stopped by Ctrl-C; the load continues if the file was stored.
        ApiError: A call was refused.
    """
    deadline = Deadline.after(timeout_s)
    size_bytes, request_id = file.stat().st_size, str(uuid.uuid4())
    look = f"classifeed task list {seller_id} {namespace}"
    with Interruption(_UNSENT) as interruption, LoadProgress(out) as progress:

        def on_sent(sent: int) -> None:
            progress.sending(file.name, sent, size_bytes)
            if sent == size_bytes:
                interruption.words = f"the file was sent completely, so it may still be loaded; see {look}"

        def send() -> feed_service_pb2.Upload:
            interruption.words = _UNSENT
            progress.sending(file.name, 0, size_bytes)
            return client.upload_feed(
                file,
                seller_id=seller_id,
                namespace=namespace,
                mode=mode,
                disposition=disposition,
                force=force,
                allow_removals=allow_removals,
                allow_changes=allow_changes,
                default_currency=currency or "",
                request_id=request_id,
                timeout_s=deadline.left_s,
                on_sent=on_sent,
            )

        stored = send_when_there_is_room(send, progress, lambda: deadline.left_s)
        interruption.words = _waited(f"the file is stored, and its load continues; see {look}")
        progress.waiting("waiting for the load")
        name = client.wait_for_task_name(stored, timeout_s=max(1.0, deadline.left_s))
        return follow_task(client, progress, interruption, name, deadline)


def follow_task(
    client: Client, progress: LoadProgress, interruption: Interruption, name: str, deadline: Deadline
) -> task_pb2.Task:
    """Return a task once it is complete or held.

    Raises:
        CommandError: The wait timed out; the task continues.
    """
    seller_id, namespace, number = name.split("/")[1::2]
    look = f"classifeed task show {seller_id} {namespace} {number}"
    interruption.words = _waited(f"load {number} continues; see {look}")

    def show(task: task_pb2.Task) -> None:
        if task.status == task_pb2.TASK_STATUS_IN_PROGRESS:
            progress.task(task)

    try:
        return client.wait_for_task(
            name,
            timeout_s=deadline.left_s,
            on_change=show,
            on_silence=lambda: progress.waiting("waiting for the service"),
        )
    except DeadlineExceeded as error:
        raise CommandError(
            ExitCode.TIME_OUT,
            "TASK_NOT_ENDED",
            f"Task {number} has not completed within {deadline.timeout_s:g} s; it continues. "
            f"{_STUCK} Check again: {look}",
            {"task": name},
        ) from error


def follow_load(client: Client, out: Output, name: str, timeout_s: float) -> task_pb2.Task:
    """Show the progress of a task, and return it once it is complete or held.

    Raises:
        CommandError: The wait timed out, or was stopped by Ctrl-C; the task continues.
    """
    with Interruption("") as interruption, LoadProgress(out) as progress:
        progress.waiting("waiting for completion")
        return follow_task(client, progress, interruption, name, Deadline.after(timeout_s))


def fetch_feed(
    client: Client, out: Output, begun: feed_pb2.Fetch, timeout_s: float
) -> tuple[feed_pb2.Fetch, task_pb2.Task | None]:
    """Return a fetch once it has completed, with the task that loaded its file if the file is new.

    Raises:
        CommandError: The wait timed out, or was stopped by Ctrl-C; fetch and load continue.
        ApiError: A call was refused.
    """
    deadline = Deadline.after(timeout_s)
    look = f"classifeed feed fetches --seller {begun.seller_id} --namespace {begun.namespace}"
    with (
        Interruption(_waited(f"fetch {begun.fetch_id} continues; see {look}")) as interruption,
        LoadProgress(out) as progress,
    ):
        fetch = client.wait_for_fetch(begun, timeout_s=timeout_s, on_change=progress.fetch)
        if fetch.outcome != feed_pb2.FETCH_OUTCOME_LOADED or not fetch.task:
            return fetch, None
        task = follow_task(client, progress, interruption, fetch.task, deadline)
        fetch.load.CopyFrom(load_of(task))
        return fetch, task


def fetch_first(
    client: Client, out: Output, feed: feed_pb2.Feed, timeout_s: float
) -> tuple[feed_pb2.Fetch, task_pb2.Task | None]:
    """Return the first fetch of a new feed, as `fetch_feed` does; the loader starts it automatically.

    Raises:
        CommandError: The wait timed out, or was stopped by Ctrl-C; the feed is created, and fetch and load continue.
        ApiError: A call was refused.
    """
    deadline = Deadline.after(timeout_s)
    look = f"classifeed feed fetches {feed_options(feed.seller_id, feed.namespace)}"
    with (
        Interruption(_waited(f"the feed is created, and its fetch continues; see {look}")),
        LoadProgress(out) as progress,
    ):
        progress.waiting("waiting for the fetch")
        fetch = _find_fetch(client, feed, deadline)
    if fetch is None:
        raise CommandError(
            ExitCode.TIME_OUT,
            "FETCH_NOT_BEGUN",
            f"The feed is created, but its first fetch has not begun within {timeout_s:g} s; it will. "
            f"{_STUCK} Check again: {look}",
            {"feed": feed.name},
        )
    return fetch_feed(client, out, fetch, deadline.left_s)


def _find_fetch(client: Client, feed: feed_pb2.Feed, deadline: Deadline) -> feed_pb2.Fetch | None:
    """Return the newest fetch by this version of a feed, as soon as there is one. Calls are retried meanwhile."""
    while True:
        with suppress(Unreachable, DeadlineExceeded):
            for fetch in client.list_fetches(feed.name, page_size=1).fetches:
                if fetch.feed_version >= feed.version:
                    return fetch
        if not deadline.left_s:
            return None
        time.sleep(min(_POLL_S, deadline.left_s))


def follow_removal(client: Client, out: Output, feed: feed_pb2.Feed, timeout_s: float) -> task_pb2.Task:
    """Return the task that removes the offers of a removed feed, once it is complete.

    Raises:
        CommandError: The wait timed out, or was stopped by Ctrl-C; the removal continues.
        ApiError: A call was refused.
    """
    deadline = Deadline.after(timeout_s)
    look = f"classifeed task list {feed.seller_id} {feed.namespace}"
    with (
        Interruption(_waited(f"the feed is removed, and its offers follow; see {look}")) as interruption,
        LoadProgress(out) as progress,
    ):
        progress.waiting("waiting for loads before it")
        while deadline.left_s > 0:
            with suppress(Unreachable, DeadlineExceeded):
                for task in client.list_tasks(feed.name, page_size=_NEWEST).tasks:
                    if task.kind == task_pb2.TASK_KIND_DELETE and task.feed_version == feed.version:
                        return follow_task(client, progress, interruption, task.name, deadline)
            time.sleep(_POLL_S)
    raise CommandError(
        ExitCode.TIME_OUT,
        "TASK_NOT_MADE",
        f"The feed is removed, but its offers are not removed after {timeout_s:g} s; they will be. "
        f"{_STUCK} Check again: {look}",
        {"feed": feed.name},
    )


def _waited(goes_on: str) -> str:
    return f"only the waiting was stopped: {goes_on}"
