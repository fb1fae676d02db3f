"""ClaimTexts: claims texts that are due, so that many of one seller do not delay the few of another."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Tx
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.store import subjects
from classifeed_moderation.store.subjects import DueText

_SELLERS: Final = 50


class ClaimTexts:
    """Claims texts of a kind, oldest first; of offers, half of them in equal shares of the next sellers.

    The sellers are served in rotation, beginning behind the last one of the claim before. What they leave of their half
    goes to the oldest texts, whosever they are. Each process has a rotation of its own.

    Args:
        retry_s: how long other processes leave claimed texts alone.
    """

    def __init__(self, *, retry_s: float) -> None:
        self._retry_s = retry_s
        self._last_seller = ""

    async def __call__(self, tx: Tx, kind: Kind, limit: int) -> list[DueText]:
        """Return at most `limit` texts; fewer only where no more are due, or others are claiming them."""
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
