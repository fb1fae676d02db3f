"""The OfferService of the owner of the offers."""

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
        channel: to the owner of the offers.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = OfferServiceStub(channel)

    async def find(self, name: OfferName, *, timeout_s: float) -> Offer | Unknown | None:
        """Return an offer, a removed one too; None when the namespace never had it."""
        return await ask(self._stub.GetOffer(GetOfferRequest(name=str(name)), timeout=timeout_s), "offer")
