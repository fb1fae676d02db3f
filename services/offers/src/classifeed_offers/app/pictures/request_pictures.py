"""PictureRequester: repeats requests for pictures without a result, and requests pictures that have no request yet."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Tx
from classifeed_common.kafka import Message, message_of
from classifeed_domain.topics import PICTURES_REQUESTS
from classifeed_offers.app.request_again import Requester
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.domain.pictures import PicturePlan, awaited_urls, plan_awaited, plan_pictures, request_messages
from classifeed_offers.metrics import PICTURES_REQUESTED_AGAIN, PICTURES_WAITING
from classifeed_offers.store import judging, picturing
from classifeed_offers.store.picturing import PicturedOffer


class PictureRequester(Requester):
    """Requests pictures of offers again."""

    WHAT = "pictures"

    async def find(self, tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
        """Return offers that have waited for a picture for too long."""
        return await picturing.list_awaited(tx, wait_s=wait_s, limit=limit)

    async def request(
        self, tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float
    ) -> list[Message]:
        """Return requests for the pictures that are still awaited."""
        now = Timestamp()
        now.FromMicroseconds(await judging.next_content_version(tx))
        plans: list[tuple[int, PicturePlan]] = []
        urls_of: dict[str, list[str]] = {}
        for offer in await picturing.list_pictures(tx, namespace, external_ids, wait_s=wait_s):
            if not offer.is_due:  # another process has requested them
                continue
            plan = _plan(offer, now)
            plans.append((offer.offer_id, plan))
            if plan.is_awaited:
                urls_of[offer.external_id] = awaited_urls(plan.pictures)
        await picturing.save_requests(tx, plans)
        PICTURES_REQUESTED_AGAIN.inc(sum(map(len, urls_of.values())))
        key = namespace.seller_id.encode()
        messages = request_messages(namespace, urls_of, now)
        return [message_of(PICTURES_REQUESTS, key, message) for message in messages]

    async def count(self, tx: Tx) -> int:
        """Return how many offers wait for pictures."""
        waiting = await picturing.count_awaited(tx)
        PICTURES_WAITING.set(waiting)
        return waiting


def _plan(offer: PicturedOffer, now: Timestamp) -> PicturePlan:
    if offer.changed_content is not None and offer.exists:
        urls = OfferContent.FromString(offer.changed_content).picture_urls
        return plan_pictures(urls, offer.pictures, place=offer.last_place, now=now)
    return plan_awaited(offer.pictures, exists=offer.exists)
