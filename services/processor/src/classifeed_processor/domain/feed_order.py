"""Order of fetched files: a file is outdated if a newer one of its feed was loaded, or the feed was removed."""

from __future__ import annotations

from typing import Final, NamedTuple

from classifeed.feeds.v1 import task_pb2

# Tasks whose file was read, with success or without. A held one has already changed and added its offers.
FINISHED: Final = (
    task_pb2.TASK_STATUS_SUCCEEDED,
    task_pb2.TASK_STATUS_FAILED,
    task_pb2.TASK_STATUS_HELD,
)
# In addition, the tasks that will be read unless a newer one supersedes them.
FINISHED_OR_COMING: Final = (*FINISHED, task_pb2.TASK_STATUS_IN_PROGRESS)


class FetchOrder(NamedTuple):
    """Order of the fetches of a namespace: by the version of the feed, then by the number of the fetch."""

    feed_version: int
    result_id: int


class FeedMarks(NamedTuple):
    """Newest fetch and removal of a namespace.

    Attributes:
        newest_fetch: The highest fetch of its tasks; None: there is none.
        removed_version: The highest feed version of its DELETE tasks, even if they have not run; 0: there is none.
    """

    newest_fetch: FetchOrder | None
    removed_version: int

    def outdate(self, fetch: FetchOrder) -> bool:
        """Return whether the file of a fetch is outdated and must not be loaded. Uploads and DELETE are not checked."""
        if fetch.feed_version < self.removed_version:
            return True
        return self.newest_fetch is not None and fetch < self.newest_fetch
