"""Ends a feed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_REMOVED
from classifeed_api.domain.feeds import NO_CREDENTIALS, Feed, FeedDeletion
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds, task_line
from classifeed_common.db import Database


class DeleteFeed:
    """Removes a feed, and puts the task that takes its offers away into the line of the namespace.

    That task stands behind the uploads that were acknowledged before, and before those after. It is made even if the
    feed is made anew meanwhile.
    """

    def __init__(self, db: Database, *, on_changed: Callable[[], None], on_deleted: Callable[[], None]) -> None:
        self._db = db
        self._on_changed = on_changed
        self._on_deleted = on_deleted

    async def __call__(self, key: NamespaceKey, disposition: int, *, timeout_s: float | None) -> Feed:
        """Returns the removed feed; one that is removed already as it is, with no further task.

        Raises:
            NotFound: the namespace never had a feed.
        """
        async with self._db.transaction(timeout_s=timeout_s) as tx:
            await task_line.lock(tx, key)
            feed = await feeds.require(tx, key)
            if feed.is_removed:
                return feed
            place = await task_line.next_place(tx, key, above=feed.version)
            removed = replace(feed, status=FEED_STATUS_REMOVED, sealed_credentials=NO_CREDENTIALS)
            feed = await feeds.update(tx, removed, at_least=place)
            await task_line.insert_deletion(tx, FeedDeletion(key, feed.version, disposition))
        self._on_changed()
        self._on_deleted()
        return feed
