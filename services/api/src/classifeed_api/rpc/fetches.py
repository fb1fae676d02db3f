"""Methods about fetches."""

from __future__ import annotations

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import GetFetchRequest, ListFetchesRequest, ListFetchesResponse
from classifeed_api.rpc.methods import Context, Methods


class FetchMethods(Methods):
    """The loader has the fetches."""

    async def GetFetch(self, request: GetFetchRequest, context: Context) -> Fetch:
        """Asks the loader."""
        return await self._parts.sources.GetFetch(request)

    async def ListFetches(self, request: ListFetchesRequest, context: Context) -> ListFetchesResponse:
        """Asks the loader."""
        return await self._parts.sources.ListFetches(request)
