"""Changes the settings of a feed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from classifeed.feeds.v1.feed_pb2 import FeedSettings
from classifeed_api.app.feeds.check_format import CheckFormat
from classifeed_api.app.feeds.keep_credentials import KeepCredentials
from classifeed_api.domain.credentials import check_credentials, check_site, wanted_credentials
from classifeed_api.domain.feed_settings import Limits, change, check_mask, check_settings, complete, names
from classifeed_api.domain.feeds import NO_CREDENTIALS, Feed
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds, task_line
from classifeed_common.db import Database
from classifeed_common.errors import Aborted

_CREDENTIALS: Final = "feed.settings.source.credentials"


class UpdateFeed:
    """Changes the settings that a mask names, if the feed still has the version that the caller read."""

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
        self, key: NamespaceKey, given: FeedSettings, paths: Sequence[str], *, version: int, timeout_s: float | None
    ) -> Feed:
        """Return the feed with a new version; unchanged if the settings are the same.

        Args:
            key: namespace of the feed.
            given: new settings. Only those that the mask names are used; a named setting without a value gets its
                default.
            paths: paths of the mask.
            version: version that the change was made from; 0: any.
            timeout_s: timeout of each statement, in seconds.

        Raises:
            InvalidArgument: the mask or a setting that it names cannot be used; or the link leads to another site, and
                the mask does not name the stored credentials.
            NotFound: the namespace never had a feed or an upload.
            FailedPrecondition: the feed was deleted, has no link, or there is no key to encrypt credentials with.
            Aborted: the feed has changed since that version.
        """
        check_mask(paths)
        wanted = complete(given)
        check_settings(wanted, paths, self._limits, field="feed.settings")
        credentials = wanted_credentials(given.source, paths)
        if credentials is not None:
            check_credentials(credentials, field=_CREDENTIALS)
        if names(paths, "settings.format"):
            await self._formats(wanted.format, field="feed.settings.format")
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            await task_line.lock(tx, key)
            feed = await feeds.get_link(tx, key)
            if version not in {0, feed.version}:
                raise Aborted(
                    "FEED_CHANGED",
                    f"{key.name} is at version {feed.version}, and the change was made from version {version}. Read it "
                    "again, and send the change with its version.",
                    metadata={"feed": key.name, "version": str(feed.version)},
                )
            changed = replace(feed, settings=change(feed.settings, wanted, paths))
            if credentials is None and feed.sealed_credentials != NO_CREDENTIALS:
                check_site(feed.settings.source.url, changed.settings.source.url, feed=key.name, field=_CREDENTIALS)
            if credentials is not None:
                encrypted = self._credentials(key, credentials, kept=feed.sealed_credentials)
                changed = replace(changed, sealed_credentials=encrypted)
            if changed == feed:
                return feed
            feed = await feeds.update(tx, changed)
        self._on_changed()
        return feed
