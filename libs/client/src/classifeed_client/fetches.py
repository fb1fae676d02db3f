"""Calls for fetches, the downloads of feeds."""

# Written from aio/fetches.py by `make stubs`: change it there.

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2, feed_source_service_pb2
from classifeed_client.connection import Connection
from classifeed_client.errors import DeadlineExceeded, Unreachable

_POLL_S = 0.2
_UNDER_WAY = frozenset({feed_pb2.FETCH_OUTCOME_QUEUED, feed_pb2.FETCH_OUTCOME_RUNNING})


class FetchCalls(Connection):
    """Starts fetches of feeds, and reads their outcomes."""

    def run_feed(self, name: str, *, force: bool = False, request_id: str = "") -> feed_pb2.Fetch:
        """Start to fetch a feed now and return the fetch, which is not completed yet.

        A repeated request_id returns the same fetch.
        """
        request = feed_service_pb2.RunFeedRequest(name=name, force=force, request_id=request_id)
        return self._call(self._feeds.RunFeed, request, feed_pb2.Fetch)

    def get_fetch(self, name: str) -> feed_pb2.Fetch:
        """Return a fetch by its resource name."""
        return self._call(self._feeds.GetFetch, feed_source_service_pb2.GetFetchRequest(name=name), feed_pb2.Fetch)

    def list_fetches(
        self, parent: str, *, page_size: int = 0, page_token: str = ""
    ) -> feed_source_service_pb2.ListFetchesResponse:
        """Return a page of the fetches of a namespace, the newest first."""
        request = feed_source_service_pb2.ListFetchesRequest(parent=parent, page_size=page_size, page_token=page_token)
        return self._call(self._feeds.ListFetches, request, feed_source_service_pb2.ListFetchesResponse)

    def iter_fetches(self, parent: str) -> Iterator[feed_pb2.Fetch]:
        """Yield the fetches of a namespace, the newest first, over all pages."""
        return self._items(lambda token: self.list_fetches(parent, page_token=token), "fetches", feed_pb2.Fetch)

    def wait_for_fetch(
        self, fetch: feed_pb2.Fetch, *, timeout_s: float, on_change: Callable[[feed_pb2.Fetch], None] | None = None
    ) -> feed_pb2.Fetch:
        """Return a fetch once it has completed, with any outcome. `on_change` receives each state that was polled.

        Raises:
            DeadlineExceeded: The fetch has not completed within the timeout; it continues.
        """
        ends_at = time.monotonic() + timeout_s
        while fetch.outcome in _UNDER_WAY:
            if on_change:
                on_change(fetch)
            if time.monotonic() > ends_at:
                raise DeadlineExceeded(
                    "FETCH_NOT_ENDED",
                    f"Fetch {fetch.fetch_id} has not completed within {timeout_s:g} s; it continues. Check again: "
                    f"classifeed feed fetches --seller {fetch.seller_id} --namespace {fetch.namespace}",
                    {"fetch": fetch.name},
                )
            time.sleep(_POLL_S)
            # Wait for a service that restarts or does not respond: the fetch is stored and survives a restart.
            with suppress(Unreachable, DeadlineExceeded):
                fetch = self.get_fetch(fetch.name)
        return fetch
