"""Creates the feed of a namespace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_ACTIVE, FeedSettings
from classifeed_api.app.feeds.check_format import CheckFormat
from classifeed_api.app.feeds.keep_credentials import KeepCredentials
from classifeed_api.domain.credentials import check_credentials
from classifeed_api.domain.feed_settings import ALL, Limits, check_settings, complete
from classifeed_api.domain.feeds import Feed
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds, task_line
from classifeed_common.db import Database
from classifeed_common.errors import AlreadyExists


class CreateFeed:
    """Creates a feed. A removed feed is created again and its version keeps growing."""

    def __init__(
        self,
        database: Database,
        limits: Limits,
        credentials: KeepCredentials,
        formats: CheckFormat,
        *,
        on_changed: Callable[[], None],
    ) -> None:
        self._database = database
        self._limits = limits
        self._credentials = credentials
        self._formats = formats
        self._on_changed = on_changed

    async def __call__(
        self, key: NamespaceKey, given: FeedSettings, *, request_id: str | None, timeout_s: float | None
    ) -> Feed:
        """Return the feed. The same request_id returns the feed in its present state.

        Raises:
            InvalidArgument: the settings cannot be used.
            AlreadyExists: the namespace has a feed.
            FailedPrecondition: there are credentials but no key to encrypt them with.
        """
        settings = complete(given)
        check_settings(settings, ALL, self._limits, field="settings")
        check_credentials(given.source.credentials, field="settings.source.credentials")
        await self._formats(settings.format, field="settings.format")
        encrypted = self._credentials(key, given.source.credentials)
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            await task_line.lock(tx, key)
            feed = await feeds.find(tx, key)
            if feed is None:
                feed = await feeds.insert(tx, key, settings, encrypted, request_id)
            elif request_id is not None and request_id == feed.request_id:
                return feed
            elif not feed.is_removed:
                raise AlreadyExists(
                    "FEED_EXISTS",
                    f"{key.name} has a feed already. Change it with UpdateFeed, or choose another namespace.",
                    metadata={"feed": key.name},
                )
            else:
                feed = await feeds.update(
                    tx,
                    replace(
                        feed,
                        status=FEED_STATUS_ACTIVE,
                        settings=settings,
                        sealed_credentials=encrypted,
                        request_id=request_id,
                    ),
                )
        self._on_changed()
        return feed
