"""Search the documents of a client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from classifeed.documents.v1 import receiver_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_common.errors import FieldViolation, InvalidArgument, Unavailable
from classifeed_searcher.app.search_index import prepare_search
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.live_index import LiveIndex

_POLL_S: Final = 0.02

Search = Callable[[IndexGeneration, search_service_pb2.SearchRequest], Awaitable[bytes]]


async def search_here(generation: IndexGeneration, request: search_service_pb2.SearchRequest) -> bytes:
    """Search in this process; return a serialized SearchResponse.

    Raises:
        InvalidArgument: the query, a filter, the sort or the page token is invalid; the message has the position.
    """
    search = prepare_search(generation.index, request)
    return search.run() if search.is_short else await asyncio.to_thread(search.run)


class SearchDocuments:
    """Searches the current index of a client.

    Args:
        indexes: indexes by client.
        search: function that searches one generation.
        at_least_wait_s: maximum wait of a search for the positions in `at_least`, in seconds.
    """

    def __init__(
        self, indexes: Mapping[str, LiveIndex], *, search: Search = search_here, at_least_wait_s: float
    ) -> None:
        self._indexes = indexes
        self._search = search
        self._wait_s = at_least_wait_s

    async def __call__(self, request: search_service_pb2.SearchRequest) -> bytes:
        """Return a page of hits: a serialized SearchResponse.

        Raises:
            InvalidArgument: the query, a filter, the sort or the page token is invalid; the message has the position.
            Unavailable: the index is incomplete, or has not reached the positions in `at_least`.
        """
        live = self.index_of(request.client)
        live.require()
        await self._reach(live, request.at_least)
        generation = live.require()
        return await self._search(generation, request) if generation else b""

    def index_of(self, client: str) -> LiveIndex:
        """Return the index of a client.

        Raises:
            InvalidArgument: this searcher does not index the client, or the request has none.
        """
        if client not in self._indexes:
            known = ", ".join(sorted(self._indexes))
            what = f"There is no index of client {client!r}" if client else "The request names no client"
            raise InvalidArgument(
                "CLIENT_UNKNOWN",
                f"{what}: `client` names the documents to search. Set it to one of: {known}.",
                violations=[FieldViolation("client", f"must be one of: {known}")],
            )
        return self._indexes[client]

    async def _reach(self, live: LiveIndex, positions: Sequence[receiver_service_pb2.ShardPosition]) -> None:
        if not positions:
            return
        ends_at = asyncio.get_running_loop().time() + self._wait_s
        while any(live.searchable(position.shard) < position.idx for position in positions):
            if asyncio.get_running_loop().time() > ends_at:
                raise Unavailable(
                    "INDEX_BEHIND",
                    f"The index did not reach `at_least` within {self._wait_s:g} s. Try again.",
                    retry_after_s=1,
                )
            await asyncio.sleep(_POLL_S)
