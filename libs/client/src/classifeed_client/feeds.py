"""Calls for feeds that are fetched by URL."""

# Written from aio/feeds.py by `make stubs`: change it there.

from __future__ import annotations

from collections.abc import Iterator, Sequence

from google.protobuf import field_mask_pb2

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2
from classifeed_client.connection import Connection
from classifeed_client.names import feed_name, seller_name


class FeedCalls(Connection):
    """Creates, changes and deletes feeds."""

    def create_feed(
        self, seller_id: str, namespace: str, settings: feed_pb2.FeedSettings, *, request_id: str = ""
    ) -> feed_pb2.Feed:
        """Create the feed of a namespace and return it. A repeated request_id returns the same feed."""
        feed_name(seller_id, namespace)
        request = feed_service_pb2.CreateFeedRequest(
            parent=seller_name(seller_id), namespace=namespace, settings=settings, request_id=request_id
        )
        return self._call(self._feeds.CreateFeed, request, feed_pb2.Feed)

    def get_feed(self, name: str) -> feed_pb2.Feed:
        """Return a feed by its resource name, with the state of its fetches."""
        return self._call(self._feeds.GetFeed, feed_service_pb2.GetFeedRequest(name=name), feed_pb2.Feed)

    def list_feeds(
        self, parent: str, *, page_size: int = 0, page_token: str = ""
    ) -> feed_service_pb2.ListFeedsResponse:
        """Return a page of the feeds of a seller by namespace."""
        request = feed_service_pb2.ListFeedsRequest(parent=parent, page_size=page_size, page_token=page_token)
        return self._call(self._feeds.ListFeeds, request, feed_service_pb2.ListFeedsResponse)

    def iter_feeds(self, parent: str) -> Iterator[feed_pb2.Feed]:
        """Yield the feeds of a seller by namespace, over all pages."""
        return self._items(lambda token: self.list_feeds(parent, page_token=token), "feeds", feed_pb2.Feed)

    def update_feed(
        self, name: str, settings: feed_pb2.FeedSettings, paths: Sequence[str], *, version: int = 0
    ) -> feed_pb2.Feed:
        """Change the settings that the paths name, such as settings.schedule.interval, and return the feed.

        With a version, the change is refused if the feed has changed since.
        """
        request = feed_service_pb2.UpdateFeedRequest(
            feed=feed_pb2.Feed(name=name, version=version, settings=settings),
            update_mask=field_mask_pb2.FieldMask(paths=paths),
        )
        return self._call(self._feeds.UpdateFeed, request, feed_pb2.Feed)

    def pause_feed(self, name: str) -> feed_pb2.Feed:
        """Stop fetching the feed; its offers are kept. Idempotent."""
        return self._call(self._feeds.PauseFeed, feed_service_pb2.PauseFeedRequest(name=name), feed_pb2.Feed)

    def resume_feed(self, name: str) -> feed_pb2.Feed:
        """Resume fetching the feed immediately. Idempotent."""
        return self._call(self._feeds.ResumeFeed, feed_service_pb2.ResumeFeedRequest(name=name), feed_pb2.Feed)

    def delete_feed(self, name: str, *, disposition: str = "DELETE", include_manual: bool = False) -> feed_pb2.Feed:
        """Delete a feed. A task applies the disposition to its offers, after all earlier tasks. Idempotent."""
        request = feed_service_pb2.DeleteFeedRequest(
            name=name, disposition=f"DISPOSITION_{disposition}", include_manual=include_manual
        )
        return self._call(self._feeds.DeleteFeed, request, feed_pb2.Feed)
