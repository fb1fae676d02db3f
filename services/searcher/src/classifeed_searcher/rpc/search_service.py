"""SearchService: searches, documents and state of this replica's index."""

from __future__ import annotations

import asyncio
from typing import cast

from classifeed.documents.v1 import receiver_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceServicer
from classifeed_common.errors import NotFound
from classifeed_common.rpc.context import Context
from classifeed_domain.document_shards import SHARDS
from classifeed_searcher.app.search_documents import SearchDocuments
from classifeed_searcher.domain.rebuild import Rebuild
from classifeed_searcher.engine.index import Sums
from classifeed_searcher.store.generation import EMERGENCY, MAIN


class SearchService(SearchServiceServicer):
    """Searches this replica's own index, and reports its state."""

    def __init__(self, search: SearchDocuments) -> None:
        self._search = search

    async def Search(
        self, request: search_service_pb2.SearchRequest, context: Context
    ) -> search_service_pb2.SearchResponse:
        """Search the index; the use case returns a serialized response."""
        return cast(search_service_pb2.SearchResponse, await self._search(request))

    async def GetDocument(
        self, request: search_service_pb2.GetDocumentRequest, context: Context
    ) -> search_service_pb2.Hit:
        """Return a document of the current index."""
        generation = self._search.index_of(request.client).require()
        hit = await asyncio.to_thread(generation.index.get, request.pk) if generation else None
        if generation is None or hit is None:
            raise NotFound("DOCUMENT_NOT_FOUND", f"The index of {request.client} has no document {request.pk!r}.")
        return generation.index.stored_hits.show(hit, is_body=request.bodies)

    async def GetIndexStatus(
        self, request: search_service_pb2.GetIndexStatusRequest, context: Context
    ) -> search_service_pb2.IndexStatus:
        """Return positions, rebuild and differences of the index."""
        live = self._search.index_of(request.client)
        positions = [
            receiver_service_pb2.ShardPosition(shard=shard, idx=idx)
            for shard in range(SHARDS)
            if (idx := live.searchable(shard))
        ]
        return search_service_pb2.IndexStatus(
            documents=live.generation.index.documents if live.generation else 0,
            positions=positions,
            rebuild=_rebuild_message(live.rebuild) if live.rebuild and live.has_schema else None,
            equal_shards=live.equal,
            differing_shards=live.differing,
            catch_up_records=live.catch_up.behind if live.catch_up else 0,
        )

    async def GetDigest(
        self, request: search_service_pb2.GetDigestRequest, context: Context
    ) -> search_service_pb2.GetDigestResponse:
        """Return the digests of the current index."""
        generation = self._search.index_of(request.client).require()
        if generation is None:
            return search_service_pb2.GetDigestResponse()
        digest = await asyncio.to_thread(generation.digest)
        marks = digest.state.watermarks
        found = []
        for shard in range(SHARDS):
            sums = digest.sums.get(shard, Sums())
            main_idx, emergency_idx = marks.reached(shard, MAIN), marks.reached(shard, EMERGENCY)
            if sums.documents or main_idx or emergency_idx:
                found.append(
                    search_service_pb2.IndexShardDigest(
                        shard=shard,
                        documents=sums.documents,
                        sum_a=sums.sum_a,
                        sum_b=sums.sum_b,
                        main_idx=main_idx,
                        emergency_idx=emergency_idx,
                    )
                )
        return search_service_pb2.GetDigestResponse(digests=found)


def _rebuild_message(rebuild: Rebuild) -> search_service_pb2.IndexRebuild:
    return search_service_pb2.IndexRebuild(
        reason=rebuild.cause.text,
        shards=rebuild.shards,
        documents=rebuild.documents,
        serves_former=rebuild.cause.keeps_former,
    )
