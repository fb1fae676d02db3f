"""The completions of a fetch, each with a message for the seller."""

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
        outcome: outcome of the fetch.
        message: message for the seller.
        code: reason if the fetch FAILED; empty otherwise.
        task: resource name of the task that loads the file, or loaded it.
        http_status: status of the last response; None: the status that was stored with the file.
        size_bytes: received bytes of the file; None: the size that was stored with the file.
        retry_after_s: seconds for which the site accepts no request.
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
        """Whether the fetch failed, so that the feed backs off."""
        return self.outcome == feed_pb2.FETCH_OUTCOME_FAILED


def waits_for(paused: HostPaused) -> str:
    """Return the message of a queued fetch that waits for a host."""
    if paused.by_retry_after:
        return f"{describe_pause(paused)}. The file is downloaded after that time."
    return f"{paused.host} has reached its limit of requests. The file is downloaded once the limit allows it."


def describe_pause(paused: HostPaused) -> str:
    """Return until when a host's Retry-After forbids requests, without a full stop."""
    return f"{paused.host} allows no requests before {paused.until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def dropped(status: int) -> Completion:
    """Return the completion of a fetch of an older version; `status` is that of the newest version."""
    return Completion(feed_pb2.FETCH_OUTCOME_DROPPED, _CHANGED[status])


def failed(fault: FetchFailed | LoadFailed) -> Completion:
    """Return the completion of a fetch whose file could not be downloaded or may not be loaded."""
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
    """Return the completion of a fetch whose file the processor has, by the task that it returned."""
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
