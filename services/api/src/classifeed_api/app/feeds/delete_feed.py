"""Deletes a feed, or empties a namespace that is filled by uploads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_REMOVED
from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE_ALL
from classifeed.feeds.v1.task_pb2 import Task
from classifeed_api.domain.feeds import NO_CREDENTIALS, Feed, FeedDeletion
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.domain.removal import has_offers_left
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.store import feeds, task_line
from classifeed_common.db import Database, Tx
from classifeed_common.errors import Unavailable


class NewestTasks(Protocol):
    """The processor, as this use case needs it."""

    async def list_newest(self, key: NamespaceKey) -> Sequence[Task] | Unknown:
        """Return the newest tasks of a namespace, newest first; UNKNOWN if the processor does not respond."""


class DeleteFeed:
    """Removes a feed and queues the task that removes its offers.

    In the queue of the namespace, that task comes after the uploads acknowledged before the call and before those
    acknowledged after it. It runs even if the feed is created again meanwhile.
    """

    def __init__(
        self,
        database: Database,
        processor: NewestTasks,
        *,
        on_changed: Callable[[], None],
        on_deleted: Callable[[], None],
    ) -> None:
        self._database = database
        self._processor = processor
        self._on_changed = on_changed
        self._on_deleted = on_deleted

    async def __call__(self, key: NamespaceKey, disposition: int, *, timeout_s: float | None) -> Feed:
        """Return the removed feed. A feed that is removed already is returned as it is, without another task.

        Another task is queued if the processor reports that the namespace still has offers: the removal failed or was
        canceled, it kept the offers that are kept by hand and this one does not, or this database does not know the
        load that added the offers.

        Raises:
            NotFound: the namespace never had a feed or an upload.
            Unavailable: the processor does not respond, so it is unknown whether the namespace has offers.
        """
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            await task_line.lock(tx, key)
            feed = await feeds.find(tx, key)
            is_filled = (feed is not None and not feed.is_removed) or await feeds.find_uploads(
                tx, key, feed
            ) is not None
            waiting = await task_line.list_waiting_dispositions(tx, key)
            leaves_some = disposition == DISPOSITION_DELETE_ALL and bool(waiting) and disposition not in waiting
            removed = await _remove(tx, key, feed, disposition) if is_filled or leaves_some else None
        if removed is None and not waiting and await self._has_offers_left(key, feed, disposition):
            async with self._database.transaction(timeout_s=timeout_s) as tx:
                await task_line.lock(tx, key)
                current = await feeds.find(tx, key)
                if current == feed:
                    removed = await _remove(tx, key, feed, disposition)
                feed = current  # another request may have changed it meanwhile
        if removed is not None:
            self._on_changed()
            self._on_deleted()
            return removed
        if feed is None:
            raise feeds.not_found(key)
        return feed

    async def _has_offers_left(self, key: NamespaceKey, feed: Feed | None, disposition: int) -> bool:
        tasks = await self._processor.list_newest(key)
        if tasks is not UNKNOWN:
            return has_offers_left(tasks, disposition)
        if feed is None or disposition == DISPOSITION_DELETE_ALL:
            raise Unavailable(
                "PROCESSOR_UNAVAILABLE",
                f"{key.name} has neither feed nor upload here, and the service that loads files does not respond, so "
                "it is not known whether the namespace has offers. Nothing was removed. Try again in a moment.",
                retry_after_s=2,
            )
        return False


async def _remove(tx: Tx, key: NamespaceKey, feed: Feed | None, disposition: int) -> Feed:
    above = max(feed.version if feed is not None else 0, await feeds.newest_upload(tx, key))
    place = await task_line.next_place(tx, key, above=above)
    if feed is None:
        feed = await feeds.insert_removed(tx, key, place)
    else:
        removed = replace(feed, status=FEED_STATUS_REMOVED, sealed_credentials=NO_CREDENTIALS)
        feed = await feeds.update(tx, removed, at_least=place)
    await task_line.insert_deletion(tx, FeedDeletion(key, feed.version, disposition))
    return feed
