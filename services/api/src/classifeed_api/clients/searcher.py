"""Client of the searcher's SearchService."""

from __future__ import annotations

import grpc

from classifeed.search.v1.search_service_pb2 import GetDocumentRequest, Hit
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_api.clients.asking import ask
from classifeed_api.domain.unknown import Unknown
from classifeed_domain.offer_names import DOCUMENT_CLIENT, OfferName


class SearcherClient:
    """Reads documents of the index.

    Args:
        channel: channel to the searcher.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = SearchServiceStub(channel)

    async def find(self, name: OfferName, *, timeout_s: float) -> Hit | Unknown | None:
        """Return the indexed document of an offer; None if there is none, UNKNOWN if there is no response."""
        request = GetDocumentRequest(client=DOCUMENT_CLIENT, pk=name.document_pk)
        return await ask(self._stub.GetDocument(request, timeout=timeout_s), "document")
