"""Feeds: where the file of a namespace is fetched from, and how it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_REMOVED, FeedSettings, FeedStatus
from classifeed.feeds.v1.feed_source_service_pb2 import SourceRecord
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_common.errors import FailedPrecondition

NO_CREDENTIALS: Final = b""


@dataclass(frozen=True, slots=True)
class Feed:
    """A stored feed, or a placeholder for a namespace that is filled by uploads only.

    `status` is a number of FeedStatus. `settings` are complete and contain no credentials; they are empty without a
    link. `sealed_credentials` are encrypted for the loader; NO_CREDENTIALS if there are none.
    """

    key: NamespaceKey
    version: int
    status: int
    settings: FeedSettings
    sealed_credentials: bytes
    request_id: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def is_removed(self) -> bool:
        """Whether it was deleted and not created again."""
        return self.status == FEED_STATUS_REMOVED

    @property
    def has_link(self) -> bool:
        """Whether its file is fetched; otherwise the namespace is filled by uploads only."""
        return bool(self.settings.source.url)

    def require_link(self) -> None:
        """Return if the feed has a link to fetch.

        Raises:
            FailedPrecondition: the namespace is filled by uploads only.
        """
        if not self.has_link:
            raise FailedPrecondition(
                "FEED_HAS_NO_LINK",
                f"{self.key.name} is filled by uploads alone, so there is nothing to fetch, pause or change. Give it a "
                "link with CreateFeed, or upload its next file.",
                metadata={"feed": self.key.name},
            )

    def require_there(self) -> None:
        """Return if the feed was not deleted.

        Raises:
            FailedPrecondition: it was deleted.
        """
        if self.is_removed:
            raise FailedPrecondition(
                "FEED_REMOVED",
                f"{self.key.name} was deleted. Create it again with CreateFeed.",
                metadata={"feed": self.key.name},
            )


@dataclass(frozen=True, slots=True)
class FeedDeletion:
    """A deletion of a feed, whose offers a task must remove; `version` is the feed's version after it."""

    key: NamespaceKey
    version: int
    disposition: int


def source_of(feed: Feed) -> SourceRecord:
    """Return a feed as the record that the loader receives."""
    settings = feed.settings
    return SourceRecord(
        seller_id=feed.key.seller_id,
        namespace=feed.key.namespace,
        feed_version=feed.version,
        status=FeedStatus.Name(feed.status),
        url=settings.source.url,
        sealed_credentials=feed.sealed_credentials,
        interval=settings.schedule.interval,
        mode=settings.mode,
        disposition=settings.disposition,
        format=settings.format,
        default_currency=settings.default_currency,
    )
