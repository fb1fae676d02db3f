"""Methods about fetches."""

from __future__ import annotations

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import GetFetchRequest, ListFetchesRequest, ListFetchesResponse
from classifeed_api.rpc.methods import Context, Methods


class FetchMethods(Methods):
    """The loader has the fetches, the processor what became of their files."""

    async def GetFetch(self, request: GetFetchRequest, context: Context) -> Fetch:
        """Asks the loader, and the processor for the load."""
        fetch = await self._parts.sources.GetFetch(request)
        await self._parts.join_loads([fetch])
        return fetch

    async def ListFetches(self, request: ListFetchesRequest, context: Context) -> ListFetchesResponse:
        """Asks the loader, and the processor for the loads."""
        page = await self._parts.sources.ListFetches(request)
        await self._parts.join_loads(page.fetches)
        return page
