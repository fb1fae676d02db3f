"""Which fetched files come too late: a newer one of their feed was loaded, or the feed was removed."""

from __future__ import annotations

from typing import Final, NamedTuple

from classifeed.feeds.v1 import task_pb2

# Tasks whose file was read, with whatever end. A held one has changed and added its offers already.
FINISHED: Final = (
    task_pb2.TASK_STATUS_SUCCEEDED,
    task_pb2.TASK_STATUS_FAILED,
    task_pb2.TASK_STATUS_HELD,
)
# Those, and the tasks that will be unless something overtakes them.
FINISHED_OR_COMING: Final = (*FINISHED, task_pb2.TASK_STATUS_IN_PROGRESS)


class FetchOrder(NamedTuple):
    """Where a fetch stands among those of its namespace: the version of its feed decides, then its own number."""

    feed_version: int
    result_id: int


class FeedMarks(NamedTuple):
    """How far a namespace has come.

    Attributes:
        newest_fetch: The highest fetch of its tasks; None when there is none.
        removed_version: The highest feed version of its DELETE tasks, whether they ran or not; 0 when there is none.
    """

    newest_fetch: FetchOrder | None
    removed_version: int

    def outdate(self, fetch: FetchOrder) -> bool:
        """Return whether the file of this fetch must not be loaded any more. Uploads and DELETE are never checked."""
        if fetch.feed_version < self.removed_version:
            return True
        return self.newest_fetch is not None and fetch < self.newest_fetch
