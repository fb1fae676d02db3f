"""Methods that explain."""

from __future__ import annotations

from classifeed.feeds.v1.explanation_pb2 import ExplainOfferRequest, OfferExplanation
from classifeed_api.rpc.methods import Context, Methods
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_domain.offer_names import OfferName


class ExplainMethods(Methods):
    """Nobody alone knows the whole way of an offer: everyone on it is asked."""

    async def ExplainOffer(self, request: ExplainOfferRequest, context: Context) -> OfferExplanation:
        """Run the use case."""
        try:
            name = OfferName.parse(request.name)
        except ValueError as error:
            raise InvalidArgument(
                "OFFER_NAME_INVALID", str(error), violations=[FieldViolation("name", str(error))]
            ) from error
        return await self._parts.explain_offer(name)
