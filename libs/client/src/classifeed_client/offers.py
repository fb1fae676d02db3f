"""Calls for offers: stored offers, search, and the explanation of an offer's path."""

# Written from aio/offers.py by `make stubs`: change it there.

from __future__ import annotations

from collections.abc import Iterator, Sequence

from classifeed.feeds.v1 import explanation_pb2
from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_client.connection import Connection
from classifeed_client.requests import LARGEST_PAGE, next_page

_EXPLAIN_TIMEOUT_S = 30.0  # it may read the whole file


class OfferCalls(Connection):
    """Reads, searches and explains offers, and changes offers that are maintained by hand."""

    def get_offer(self, name: str) -> offer_pb2.Offer:
        """Return an offer by its resource name."""
        return self._call(self._offers.GetOffer, offer_service_pb2.GetOfferRequest(name=name), offer_pb2.Offer)

    def list_offers(self, request: offer_service_pb2.ListOffersRequest) -> offer_service_pb2.ListOffersResponse:
        """Return a page of the offers of a namespace."""
        return self._call(self._offers.ListOffers, request, offer_service_pb2.ListOffersResponse)

    def iter_offers(self, parent: str) -> Iterator[offer_pb2.Offer]:
        """Yield the offers of a namespace by external id, over all pages."""
        request = offer_service_pb2.ListOffersRequest(parent=parent, page_size=LARGEST_PAGE)
        return self._items(lambda token: self.list_offers(next_page(request, token)), "offers", offer_pb2.Offer)

    def update_offer(
        self, name: str, content: offer_pb2.OfferContent, paths: Sequence[str], *, version: int = 0
    ) -> offer_pb2.Offer:
        """Change an offer that is maintained by hand, and return it.

        Args:
            name: Resource name of the offer.
            content: New values. A field that is in `paths` but unset here becomes unset.
            paths: Names of the fields of OfferContent to change.
            version: Version that the change is based on; 0 for any.

        Raises:
            ApiError: The offer does not exist, is maintained by its feed, has another version, or a value is invalid.
        """
        request = offer_service_pb2.UpdateOfferRequest(name=name, content=content, version=version)
        request.update_mask.paths.extend(paths)
        return self._call(self._offers.UpdateOffer, request, offer_pb2.Offer)

    def delete_offer(self, name: str, *, version: int = 0) -> offer_pb2.Offer:
        """Remove an offer that is maintained by hand, and return it.

        Args:
            name: Resource name of the offer.
            version: Version that the caller knows; 0 for any.

        Raises:
            ApiError: The offer does not exist, is maintained by its feed, or has another version.
        """
        request = offer_service_pb2.DeleteOfferRequest(name=name, version=version)
        return self._call(self._offers.DeleteOffer, request, offer_pb2.Offer)

    def explain_offer(self, name: str, *, timeout_s: float = _EXPLAIN_TIMEOUT_S) -> explanation_pb2.OfferExplanation:
        """Return the path of an offer from its line in the file to the search, by its resource name."""
        request = explanation_pb2.ExplainOfferRequest(name=name)
        return self._call(self._feeds.ExplainOffer, request, explanation_pb2.OfferExplanation, timeout_s)

    def search(self, request: search_service_pb2.SearchRequest) -> search_service_pb2.SearchResponse:
        """Return a page of search hits."""
        return self._call(self._search.Search, request, search_service_pb2.SearchResponse)

    def iter_hits(self, request: search_service_pb2.SearchRequest) -> Iterator[search_service_pb2.Hit]:
        """Yield hits, the best first, over all pages."""
        return self._items(lambda token: self.search(next_page(request, token)), "hits", search_service_pb2.Hit)

    def get_index_status(self, client: str = "offers") -> search_service_pb2.IndexStatus:
        """Return the progress of the index."""
        request = search_service_pb2.GetIndexStatusRequest(client=client)
        return self._call(self._search.GetIndexStatus, request, search_service_pb2.IndexStatus)
