"""ClaimTexts: claims due texts so that a seller with many texts does not delay a seller with few."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Tx
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.store import subjects
from classifeed_moderation.store.subjects import DueText

_SELLERS: Final = 50


class ClaimTexts:
    """Claims texts of a kind, oldest first. For offers, the next sellers share one half of the texts equally.

    The rotation of sellers continues after the last seller of the previous claim. If the sellers do not use up their
    half, the oldest texts of any seller get the rest. Each process rotates separately.

    Args:
        retry_s: seconds that other processes skip claimed texts.
    """

    def __init__(self, *, retry_s: float) -> None:
        self._retry_s = retry_s
        self._last_seller = ""

    async def __call__(self, tx: Tx, kind: Kind, limit: int) -> list[DueText]:
        """Return at most `limit` texts; fewer only if no more are due, or other processes are claiming them."""
        shared = await self._claim_shares(tx, (limit + 1) // 2) if kind is Kind.OFFER else []
        rest = limit - len(shared)
        return shared + (await subjects.claim_due(tx, kind, limit=rest, retry_s=self._retry_s) if rest else [])

    async def _claim_shares(self, tx: Tx, limit: int) -> list[DueText]:
        most = min(_SELLERS, limit)
        sellers = await subjects.list_sellers(tx, after=self._last_seller, limit=most)
        if len(sellers) < most and self._last_seller:
            sellers += [
                seller_id
                for seller_id in await subjects.list_sellers(tx, after="", limit=most - len(sellers))
                if seller_id <= self._last_seller
            ]
        if not sellers:
            return []
        self._last_seller = sellers[-1]
        return await subjects.claim_shares(tx, sellers, share=limit // len(sellers), retry_s=self._retry_s)
