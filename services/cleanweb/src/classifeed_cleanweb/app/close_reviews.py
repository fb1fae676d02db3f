"""Close the reviews of texts that no longer need a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed_cleanweb.store import reviews
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s


async def close_reviews(database: Database, service: str, environment: str, keys: Sequence[str]) -> set[str]:
    """End the requests of these keys without a callback, and return the keys that had one. Idempotent.

    A review ends with its last key. It continues while an equal text of another key waits.
    """
    async with database.transaction(timeout_s=remaining_s()) as tx:
        return await reviews.withdraw_requests(tx, service, environment, keys)
