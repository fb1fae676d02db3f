"""Methods for fetches."""

from __future__ import annotations

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import GetFetchRequest, ListFetchesRequest, ListFetchesResponse
from classifeed_api.app.feeds.join_loads import JoinLoads
from classifeed_api.clients.loader import LoaderClient
from classifeed_common.rpc.context import Context


class FetchMethods:
    """Methods for fetches. The loader keeps fetches; the processor keeps the loads of their files."""

    def __init__(self, loader: LoaderClient, join_loads: JoinLoads) -> None:
        self._loader = loader
        self._join_loads = join_loads

    async def GetFetch(self, request: GetFetchRequest, context: Context) -> Fetch:
        """Return a fetch with the load of its file."""
        fetch = await self._loader.stub.GetFetch(request)
        await self._join_loads([fetch])
        return fetch

    async def ListFetches(self, request: ListFetchesRequest, context: Context) -> ListFetchesResponse:
        """Return a page of fetches with the loads of their files."""
        page = await self._loader.stub.ListFetches(request)
        await self._join_loads(page.fetches)
        return page
