"""Search the documents of a client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from classifeed.documents.v1 import receiver_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_common.errors import FieldViolation, InvalidArgument, Unavailable
from classifeed_searcher.app.search_index import search_index
from classifeed_searcher.store.live_index import LiveIndex

_POLL_S: Final = 0.02
_AT_LEAST_WAIT_S: Final = 2.0
# Threads of searches. They are not those of commits and digests, which long searches must not hold up.
_SEARCHES: Final = 8


class SearchDocuments:
    """Searches the current index of a client.

    Args:
        indexes: indexes by client.
        at_least_wait_s: maximum wait of a search for the positions in `at_least`, in seconds.
    """

    def __init__(self, indexes: Mapping[str, LiveIndex], *, at_least_wait_s: float = _AT_LEAST_WAIT_S) -> None:
        self._indexes = indexes
        self._threads = ThreadPoolExecutor(_SEARCHES, "search")
        self._wait_s = at_least_wait_s

    async def __call__(self, request: search_service_pb2.SearchRequest) -> bytes:
        """Return a page of hits: a serialized SearchResponse. A canceled search that waits for a thread never begins.

        Raises:
            InvalidArgument: see `search_index`.
            Unavailable: the index is incomplete, or has not reached the positions in `at_least`.
        """
        live = self.index_of(request.client)
        live.require()
        await self._reach(live, request.at_least)
        generation = live.require()
        if generation is None:
            return b""
        loop = asyncio.get_running_loop()
        search = loop.run_in_executor(self._threads, search_index, generation.index, request)
        return await search

    def close(self) -> None:
        """Drop the searches that wait for a thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)

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
