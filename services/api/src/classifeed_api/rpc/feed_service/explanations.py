"""ExplainOffer."""

from __future__ import annotations

from classifeed.feeds.v1.explanation_pb2 import ExplainOfferRequest, OfferExplanation
from classifeed_api.app.explain_offer import ExplainOffer
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.context import Context
from classifeed_domain.offer_names import OfferName


class ExplanationMethods:
    """Explains offers. No service alone knows the whole timeline, so each is called."""

    def __init__(self, explain_offer: ExplainOffer) -> None:
        self._explain_offer = explain_offer

    async def ExplainOffer(self, request: ExplainOfferRequest, context: Context) -> OfferExplanation:
        """Run the use case."""
        try:
            name = OfferName.parse(request.name)
        except ValueError as error:
            raise InvalidArgument(
                "OFFER_NAME_INVALID", str(error), violations=[FieldViolation("name", str(error))]
            ) from error
        return await self._explain_offer(name)
