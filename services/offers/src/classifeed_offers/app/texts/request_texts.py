"""TextRequester: repeats requests for verdicts that have not arrived."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.moderation.v1.offer_texts_pb2 import RemovedOffer, TextsToJudge
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Tx
from classifeed_common.kafka import Message, message_of
from classifeed_common.splitting import split_by_size
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_offers.app.request_again import Requester
from classifeed_offers.domain.moderation import text_to_judge, texts_to_judge
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.metrics import TEXTS_REQUESTED_AGAIN, TEXTS_WAITING
from classifeed_offers.store import judging


class TextRequester(Requester):
    """Requests the verdicts about texts again, and reports offers that were removed while their texts waited."""

    WHAT = "texts"

    async def find(self, tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
        """Return offers whose text has waited for too long."""
        return await judging.list_unanswered(tx, wait_s=wait_s, limit=limit)

    async def request(
        self, tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float
    ) -> list[Message]:
        """Return requests for still waiting texts, and reports of offers that were removed while their texts waited."""
        rows = await judging.request_again(tx, namespace, external_ids, wait_s=wait_s)
        texts = [
            text_to_judge(row.external_id, OfferContent.FromString(row.content), row.text_hash, row.content_version)
            for row in rows
            if row.content is not None
        ]
        removed = [
            RemovedOffer(external_id=row.external_id, content_version=row.content_version)
            for row in rows
            if row.content is None
        ]
        TEXTS_REQUESTED_AGAIN.inc(len(texts))
        requests = texts_to_judge(namespace, texts)
        requests += [TextsToJudge(**namespace._asdict(), removed=part) for part in split_by_size(removed)]
        key = namespace.seller_id.encode()
        return [message_of(MODERATION_REQUESTS, key, message) for message in requests]

    async def count(self, tx: Tx) -> int:
        """Return the number of waiting texts, and set the metric."""
        waiting, _ = await judging.count_unanswered(tx)
        TEXTS_WAITING.set(waiting)
        return waiting
