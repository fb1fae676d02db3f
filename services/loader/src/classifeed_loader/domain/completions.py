"""How a fetch is completed, with a message for the one whose link it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from classifeed.feeds.v1 import feed_pb2
from classifeed.feeds.v1.feed_pb2 import FetchOutcome
from classifeed.feeds.v1.task_pb2 import Task
from classifeed_common.fetch import FetchFailed, HostPaused
from classifeed_loader.domain.faults import LoadFailed
from classifeed_loader.domain.fetches import FetchKey

_CHANGED: Final[Mapping[int, str]] = {
    feed_pb2.FEED_STATUS_ACTIVE: "The feed was changed meanwhile, so the file was dropped. It is fetched again.",
    feed_pb2.FEED_STATUS_PAUSED: "The feed was paused meanwhile, so the file was dropped. Resume it to fetch it again.",
    feed_pb2.FEED_STATUS_REMOVED: "The feed was removed meanwhile, so the file was dropped.",
}


@dataclass(frozen=True, slots=True)
class Completion:
    """The completion of a fetch.

    Attributes:
        outcome: How it ended.
        message: The same for the seller.
        code: Why it FAILED.
        task: Resource name of the task that loads the file, or loaded it.
        http_status: Of the last response; None: as it was noted with the file.
        size_bytes: What came of the file; None: as it was noted with the file.
        retry_after_s: How long the site wants no request, in seconds.
    """

    outcome: FetchOutcome
    message: str
    code: str = ""
    task: str = ""
    http_status: int | None = None
    size_bytes: int | None = None
    retry_after_s: float = 0.0

    @property
    def is_failure(self) -> bool:
        """Whether the feed waits longer for its next fetch."""
        return self.outcome == feed_pb2.FETCH_OUTCOME_FAILED


def waits_for(paused: HostPaused) -> str:
    """Return what a fetch waits for in its queue."""
    if paused.by_retry_after:
        return f"{describe_pause(paused)}. The file is downloaded after that time."
    return f"{paused.host} has as many requests as it may have. The file is downloaded once it may have more."


def describe_pause(paused: HostPaused) -> str:
    """Return until when a Retry-After of a host forbids requests, without a full stop."""
    return f"{paused.host} wants no requests before {paused.until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def dropped(status: int) -> Completion:
    """Return the completion of a fetch of a version that is not the newest one; `status` is that of the newest."""
    return Completion(feed_pb2.FETCH_OUTCOME_DROPPED, _CHANGED[status])


def failed(fault: FetchFailed | LoadFailed) -> Completion:
    """Return the completion of a fetch that brought no file, or none that may be loaded."""
    if isinstance(fault, LoadFailed):
        return Completion(feed_pb2.FETCH_OUTCOME_FAILED, fault.message, fault.code, retry_after_s=fault.retry_after_s)
    return Completion(
        feed_pb2.FETCH_OUTCOME_FAILED,
        fault.message,
        fault.code,
        http_status=fault.http_status,
        size_bytes=fault.bytes_received,
        retry_after_s=fault.retry_after_s or 0.0,
    )


def handed_over(key: FetchKey, task: Task, *, is_as_before: bool) -> Completion:
    """Return the completion of a fetch whose file the processor has, by the task of its response."""
    if task.fetch == key.name:
        message = (
            "The file is unchanged, and its task loads it again."
            if is_as_before
            else "The file was fetched; its task loads it."
        )
        return Completion(feed_pb2.FETCH_OUTCOME_LOADED, message, task=task.name)
    if is_as_before:
        message = "The site reports that the file is unchanged. There is nothing to load."
        return Completion(feed_pb2.FETCH_OUTCOME_NOT_MODIFIED, message, task=task.name)
    message = "The file is byte for byte that of the last load. There is nothing to load."
    return Completion(feed_pb2.FETCH_OUTCOME_SAME_CONTENT, message, task=task.name)
