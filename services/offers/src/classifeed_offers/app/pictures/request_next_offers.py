"""Request pictures of a namespace's offers, slice by slice: pictures that were never requested, or all of them again.

Offers that were written before pictures existed, or while pictures were off, were never requested. All pictures are
requested again if the service of pictures may have lost data.
"""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Tx
from classifeed_common.kafka import message_of
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import PICTURES_REQUESTS
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.domain.pictures import PicturePlan, lasting_urls, plan_pictures, request_messages
from classifeed_offers.metrics import PICTURES_REQUESTED_AGAIN
from classifeed_offers.store import judging, picturing


@dataclass(frozen=True, slots=True)
class RequestedSlice:
    """Outcome of a slice.

    Attributes:
        last: external id of the last offer that was read; None: there are no more.
        offers: number of offers whose pictures were requested.
    """

    last: str | None
    offers: int


async def request_next_offers(
    tx: Tx, namespace: Namespace, *, after: str, limit: int, again: bool, outbox: Outbox
) -> RequestedSlice:
    """Read the next offers of a namespace, and request pictures of them.

    The caller holds the head of the namespace. Each link without a request gets one. Other links keep their state
    until a result of a higher attempt arrives.

    Args:
        tx: transaction for all effects.
        namespace: namespace of the offers.
        after: external id of the last offer that was read; empty: none was.
        limit: maximum number of offers to read.
        again: whether links that were requested before are requested again.
        outbox: sends the requests.
    """
    found = await picturing.next_offers(tx, namespace, after=after, again=again, limit=limit)
    now = Timestamp()
    now.FromMicroseconds(await judging.next_content_version(tx))
    plans: list[tuple[int, PicturePlan]] = []
    urls_of: dict[str, list[str]] = {}
    for offer in found:
        if offer.requested_pictures is not None:
            if known := lasting_urls(offer.requested_pictures):
                urls_of[offer.external_id] = known
                PICTURES_REQUESTED_AGAIN.inc(len(known))
        elif offer.unrequested_content is not None:
            urls = OfferContent.FromString(offer.unrequested_content).picture_urls
            plan = plan_pictures(urls, None, place=offer.last_place, now=now)
            if plan.requested:
                plans.append((offer.offer_id, plan))
                urls_of[offer.external_id] = list(plan.requested)
    if plans:
        await picturing.save_requests(tx, plans)
    if urls_of:
        messages = request_messages(namespace, urls_of, now)
        key = namespace.seller_id.encode()
        await outbox.put(tx, [message_of(PICTURES_REQUESTS, key, message) for message in messages])
    return RequestedSlice(found[-1].external_id if len(found) == limit else None, len(urls_of))
