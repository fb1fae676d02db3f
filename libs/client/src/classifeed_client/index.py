"""Calls for the pipeline from offers to the search index, for operators."""

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
"""Services that these calls use."""


class IndexClient(Caller):
    """Monitors and repairs the index. The arguments are those of Caller, with the addresses of INDEX_SERVICES."""

    def _open_stubs(self) -> None:
        self._offers = self._stub("offers", OfferServiceStub)
        self._indexer = self._stub("indexer", IndexerServiceStub)
        self._search = self._stub("searcher", SearchServiceStub)

    def get_publication(self) -> offer_service_pb2.Publication:
        """Return the progress of publishing: unpublished offers, and offers that the receiver refuses."""
        request = offer_service_pb2.GetPublicationRequest()
        return self._call(self._offers.GetPublication, request, offer_service_pb2.Publication)

    def republish_offers(self, parent: str = "", request_id: str = "") -> int:
        """Push all offers again, or those of a seller or a namespace; return the number of the republication.

        A repeated request id starts nothing and returns 0.
        """
        request = offer_service_pb2.RepublishOffersRequest(parent=parent, request_id=request_id)
        response = self._call(self._offers.RepublishOffers, request, offer_service_pb2.RepublishOffersResponse)
        return response.republication_id

    def get_indexer_status(self, client: str = "offers") -> indexer_service_pb2.IndexerStatus:
        """Return the progress of each shard, its holder, and the refills under way."""
        request = indexer_service_pb2.GetIndexerStatusRequest(client=client)
        return self._call(self._indexer.GetStatus, request, indexer_service_pb2.IndexerStatus)

    def request_refill(self, client: str = "offers", shards: Sequence[int] = ()) -> int:
        """Refill some shards, or all, from the registry; return how many. A refill under way restarts."""
        request = indexer_service_pb2.RequestRefillRequest(client=client, shards=shards)
        return self._call(self._indexer.RequestRefill, request, indexer_service_pb2.RequestRefillResponse).shards

    def get_index_status(self, client: str = "offers") -> search_service_pb2.IndexStatus:
        """Return the content of one replica's index, whether it equals the registry, and the progress of a rebuild."""
        request = search_service_pb2.GetIndexStatusRequest(client=client)
        return self._call(self._search.GetIndexStatus, request, search_service_pb2.IndexStatus)
