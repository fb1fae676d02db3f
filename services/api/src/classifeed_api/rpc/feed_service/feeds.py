"""Methods for feeds by link."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2
from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE, DISPOSITION_DELETE_ALL, DISPOSITION_MAKE_MANUAL
from classifeed_api.app.feeds.create_feed import CreateFeed
from classifeed_api.app.feeds.delete_feed import DeleteFeed
from classifeed_api.app.feeds.read_feeds import ReadFeeds
from classifeed_api.app.feeds.run_feed import RunFeed
from classifeed_api.app.feeds.switch_feed import SwitchFeed
from classifeed_api.app.feeds.update_feed import UpdateFeed
from classifeed_api.domain.feeds import NO_CREDENTIALS, Feed
from classifeed_api.domain.namespaces import NamespaceKey, namespace_to_load
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import read_page_token, write_page_token

_DEFAULT_PAGE_FEEDS: Final = 50


class FeedMethods:
    """Methods for feeds, each with its use case. The api keeps feeds; the loader keeps their fetch states."""

    def __init__(
        self,
        *,
        create: CreateFeed,
        read: ReadFeeds,
        update: UpdateFeed,
        switch: SwitchFeed,
        delete: DeleteFeed,
        run: RunFeed,
    ) -> None:
        self._create = create
        self._read = read
        self._update = update
        self._switch = switch
        self._delete = delete
        self._run = run

    async def CreateFeed(self, request: feed_service_pb2.CreateFeedRequest, context: Context) -> feed_pb2.Feed:
        """Create a feed."""
        key = NamespaceKey(_seller_of(request.parent), namespace_to_load(request.namespace, field="namespace"))
        request_id = _request_id(request.request_id)
        feed = await self._create(key, request.settings, request_id=request_id, timeout_s=remaining_s())
        return _feed_message(feed)

    async def GetFeed(self, request: feed_service_pb2.GetFeedRequest, context: Context) -> feed_pb2.Feed:
        """Return a feed with its state at the loader."""
        key = NamespaceKey.parse(request.name, field="name")
        feed, state = await self._read.get(key, timeout_s=remaining_s())
        return _feed_message(feed, state)

    async def ListFeeds(
        self, request: feed_service_pb2.ListFeedsRequest, context: Context
    ) -> feed_service_pb2.ListFeedsResponse:
        """Return a page of feeds with their states at the loader."""
        page, more = await self._read.list(
            _seller_of(request.parent),
            after=read_page_token(request.page_token),
            limit=request.page_size or _DEFAULT_PAGE_FEEDS,
            timeout_s=remaining_s(),
        )
        return feed_service_pb2.ListFeedsResponse(
            feeds=[_feed_message(feed, state) for feed, state in page],
            next_page_token=write_page_token(page[-1].feed.key.namespace) if more else "",
        )

    async def UpdateFeed(self, request: feed_service_pb2.UpdateFeedRequest, context: Context) -> feed_pb2.Feed:
        """Change the settings that the mask names."""
        feed = await self._update(
            NamespaceKey.parse(request.feed.name, field="feed.name"),
            request.feed.settings,
            request.update_mask.paths,
            version=request.feed.version,
            timeout_s=remaining_s(),
        )
        return _feed_message(feed)

    async def PauseFeed(self, request: feed_service_pb2.PauseFeedRequest, context: Context) -> feed_pb2.Feed:
        """Stop fetching a feed on its schedule."""
        return await self._change_status(request.name, feed_pb2.FEED_STATUS_PAUSED)

    async def ResumeFeed(self, request: feed_service_pb2.ResumeFeedRequest, context: Context) -> feed_pb2.Feed:
        """Fetch a feed on its schedule again."""
        return await self._change_status(request.name, feed_pb2.FEED_STATUS_ACTIVE)

    async def DeleteFeed(self, request: feed_service_pb2.DeleteFeedRequest, context: Context) -> feed_pb2.Feed:
        """Remove a feed; a task removes its offers later."""
        key = NamespaceKey.parse(request.name, field="name")
        disposition = request.disposition or DISPOSITION_DELETE
        if request.include_manual:
            if disposition == DISPOSITION_MAKE_MANUAL:
                raise _contradiction(request.name)
            disposition = DISPOSITION_DELETE_ALL
        return _feed_message(await self._delete(key, disposition, timeout_s=remaining_s()))

    async def RunFeed(self, request: feed_service_pb2.RunFeedRequest, context: Context) -> feed_pb2.Fetch:
        """Have the loader fetch a feed now."""
        key = NamespaceKey.parse(request.name, field="name")
        request_id = _request_id(request.request_id)
        return await self._run(key, force=request.force, request_id=request_id, timeout_s=remaining_s())

    async def _change_status(self, name: str, status: feed_pb2.FeedStatus) -> feed_pb2.Feed:
        key = NamespaceKey.parse(name, field="name")
        return _feed_message(await self._switch(key, status, timeout_s=remaining_s()))


def _contradiction(name: str) -> InvalidArgument:
    what = "cannot be set together with the disposition MAKE_MANUAL, which keeps offers by hand: choose one of them"
    return InvalidArgument(
        "DISPOSITION_CONTRADICTORY",
        f"{name} was not removed: include_manual {what}.",
        violations=[FieldViolation("include_manual", what)],
    )


def _feed_message(feed: Feed, state: feed_pb2.FeedSourceState | None = None) -> feed_pb2.Feed:
    message = feed_pb2.Feed(
        name=feed.key.name,
        seller_id=feed.key.seller_id,
        namespace=feed.key.namespace,
        version=feed.version,
        status=feed_pb2.FeedStatus.Name(feed.status),
        settings=feed.settings,
        create_time=feed.created_at,
        update_time=feed.updated_at,
        state=state,
    )
    message.settings.source.has_credentials = feed.sealed_credentials != NO_CREDENTIALS
    return message


def _seller_of(parent: str) -> str:
    return parent.removeprefix("sellers/")


def _request_id(given: str) -> str | None:
    """Return a request_id in lower case, so that a UUID is the same request in either case; None if there is none."""
    return given.lower() or None
