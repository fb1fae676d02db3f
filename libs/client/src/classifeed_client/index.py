"""Calls about the way from offers into the search index, for operators."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.documents.v1 import indexer_service_pb2
from classifeed.documents.v1.indexer_service_pb2_grpc import IndexerServiceStub
from classifeed.offers.v1 import offer_service_pb2
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.search.v1 import search_service_pb2
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_client.connection import Caller

INDEX_SERVICES = ("offers", "indexer", "searcher")
"""The services that these calls go to."""


class IndexClient(Caller):
    """Says how far the index is and repairs it. Arguments as those of Caller, with the addresses of INDEX_SERVICES."""

    def _open_stubs(self) -> None:
        self._offers = self._stub("offers", OfferServiceStub)
        self._indexer = self._stub("indexer", IndexerServiceStub)
        self._search = self._stub("searcher", SearchServiceStub)

    def get_publication(self) -> offer_service_pb2.Publication:
        """Return what offers has not published yet, and which offers the receiver refuses."""
        request = offer_service_pb2.GetPublicationRequest()
        return self._call(self._offers.GetPublication, request, offer_service_pb2.Publication)

    def republish_offers(self, parent: str = "", request_id: str = "") -> int:
        """Have all offers, or those of a seller or a namespace, pushed once more; return the republication's number.

        A repeated request id begins nothing further and returns 0.
        """
        request = offer_service_pb2.RepublishOffersRequest(parent=parent, request_id=request_id)
        response = self._call(self._offers.RepublishOffers, request, offer_service_pb2.RepublishOffersResponse)
        return response.republication_id

    def get_indexer_status(self, client: str = "offers") -> indexer_service_pb2.IndexerStatus:
        """Return how far each shard is delivered, who holds it, and what is being filled again."""
        request = indexer_service_pb2.GetIndexerStatusRequest(client=client)
        return self._call(self._indexer.GetStatus, request, indexer_service_pb2.IndexerStatus)

    def request_refill(self, client: str = "offers", shards: Sequence[int] = ()) -> int:
        """Have some shards, or all, delivered again from the registry; return how many. One under way begins anew."""
        request = indexer_service_pb2.RequestRefillRequest(client=client, shards=shards)
        return self._call(self._indexer.RequestRefill, request, indexer_service_pb2.RequestRefillResponse).shards

    def get_index_status(self, client: str = "offers") -> search_service_pb2.IndexStatus:
        """Return what one replica's index holds, whether it equals the registry, and how far a rebuild is."""
        request = search_service_pb2.GetIndexStatusRequest(client=client)
        return self._call(self._search.GetIndexStatus, request, search_service_pb2.IndexStatus)
