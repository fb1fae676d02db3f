"""Pauses and resumes a feed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from classifeed_api.domain.feeds import Feed
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds, task_line
from classifeed_common.db import Database


class SwitchFeed:
    """Sets whether a feed is fetched on its schedule."""

    def __init__(self, database: Database, *, on_changed: Callable[[], None]) -> None:
        self._database = database
        self._on_changed = on_changed

    async def __call__(self, key: NamespaceKey, status: int, *, timeout_s: float | None) -> Feed:
        """Return the feed with the given status, ACTIVE or PAUSED; unchanged if it has that status already.

        Raises:
            NotFound: the namespace never had a feed or an upload.
            FailedPrecondition: the feed was deleted, or has no link.
        """
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            await task_line.lock(tx, key)
            feed = await feeds.get_link(tx, key)
            if feed.status == status:
                return feed
            feed = await feeds.update(tx, replace(feed, status=status))
        self._on_changed()
        return feed
