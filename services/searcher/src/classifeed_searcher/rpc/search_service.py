"""SearchService."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import grpc

from classifeed.documents.v1 import receiver_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceServicer
from classifeed_common.errors import NotFound
from classifeed_common.kafka.topics import INDEX_SHARDS
from classifeed_searcher.app.search_documents import SearchDocuments

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]


class SearchService(SearchServiceServicer):
    """Answers from this replica's own index."""

    def __init__(self, search: SearchDocuments) -> None:
        self._search = search

    async def Search(
        self, request: search_service_pb2.SearchRequest, context: Context
    ) -> search_service_pb2.SearchResponse:
        """Runs the use case."""
        return await self._search(request)

    async def GetDocument(
        self, request: search_service_pb2.GetDocumentRequest, context: Context
    ) -> search_service_pb2.Hit:
        """Reads the active index."""
        index = self._search.catalogue(request.client).active
        hit = await asyncio.to_thread(index.get, request.pk) if index else None
        if hit is None:
            raise NotFound("DOCUMENT_NOT_FOUND", f"The index of {request.client} has no document {request.pk!r}.")
        return hit

    async def GetIndexStatus(
        self, request: search_service_pb2.GetIndexStatusRequest, context: Context
    ) -> search_service_pb2.IndexStatus:
        """Reads the watermarks."""
        catalogue = self._search.catalogue(request.client)
        positions = [
            receiver_service_pb2.ShardPosition(shard=shard, idx=idx)
            for shard in range(INDEX_SHARDS)
            if (idx := catalogue.searchable(shard))
        ]
        documents = catalogue.active.documents if catalogue.active else 0
        return search_service_pb2.IndexStatus(documents=documents, positions=positions)
