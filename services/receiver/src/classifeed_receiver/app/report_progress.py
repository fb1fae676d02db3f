"""Note how far a consumer group has come, which is what the queues are trimmed by."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed_common.db import Database
from classifeed_receiver.app.read_elements import NO_ELEMENTS, check_end
from classifeed_receiver.store import queues
from classifeed_receiver.store.queues import ShardKey


async def report_progress(database: Database, group: str, client: str, cursors: Sequence[tuple[ShardKey, int]]) -> None:
    """Notes the cursors. Idempotent; a cursor behind the one noted changes nothing.

    Raises:
        FailedPrecondition: a cursor lies beyond the end of its queue; noted, it would trim what nobody has read.
    """
    async with database.transaction() as tx:
        ends = await queues.select_shards(tx, client)
        for key, idx in cursors:
            check_end(client, key, idx, ends.get(key, NO_ELEMENTS))
        await queues.report_progress(tx, group, client, cursors)
