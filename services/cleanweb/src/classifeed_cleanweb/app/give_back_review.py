"""Give a text back, so that another reviewer gets it before the lease ends."""

from __future__ import annotations

from classifeed_cleanweb.store import reviews
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s


async def give_back_review(database: Database, review_id: int, reviewer: str) -> bool:
    """End the lease of a reviewer (in the form of `person_name`); return False if there is none. Idempotent."""
    async with database.transaction(timeout_s=remaining_s()) as tx:
        return await reviews.give_back(tx, review_id, reviewer)
