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
    """A feed as it is kept, or what stands for one where a namespace is filled by uploads alone.

    `status` is a number of FeedStatus. `settings` are complete, without credentials; those are encrypted for the
    loader, NO_CREDENTIALS where there are none. Without a link they are empty.
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
        """Whether it was deleted, and not made anew."""
        return self.status == FEED_STATUS_REMOVED

    @property
    def has_link(self) -> bool:
        """Whether its file is fetched; else it comes by uploads alone."""
        return bool(self.settings.source.url)

    def require_link(self) -> None:
        """Return if there is something to fetch.

        Raises:
            FailedPrecondition: the namespace is filled by uploads alone.
        """
        if not self.has_link:
            raise FailedPrecondition(
                "FEED_HAS_NO_LINK",
                f"{self.key.name} is filled by uploads alone, so there is nothing to fetch, pause or change. Give it a "
                "link with CreateFeed, or upload its next file.",
                metadata={"feed": self.key.name},
            )

    def require_there(self) -> None:
        """Return if the feed can be worked with.

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
    """A removal of a feed, whose offers a task has to take away; `version` is the one that it gave the feed."""

    key: NamespaceKey
    version: int
    disposition: int


def source_of(feed: Feed) -> SourceRecord:
    """Return a feed as the loader needs it."""
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
