"""Client of the OfferService."""

from __future__ import annotations

import grpc

from classifeed.offers.v1.offer_pb2 import Offer
from classifeed.offers.v1.offer_service_pb2 import GetOfferRequest
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed_api.clients.asking import ask
from classifeed_api.domain.unknown import Unknown
from classifeed_domain.offer_names import OfferName


class OffersClient:
    """Reads offers.

    Args:
        channel: channel to the offers service.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = OfferServiceStub(channel)

    async def find(self, name: OfferName, *, timeout_s: float) -> Offer | Unknown | None:
        """Return an offer, even a removed one; None if the namespace never had it, UNKNOWN if there is no response."""
        return await ask(self._stub.GetOffer(GetOfferRequest(name=str(name)), timeout=timeout_s), "offer")
