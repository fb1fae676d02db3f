"""Note how far a consumer group has come, which is what the queues are trimmed by."""

from __future__ import annotations

from collections.abc import Mapping

from classifeed_common.db import Database
from classifeed_receiver.domain.cursors import ShardKey, unknown_cursor
from classifeed_receiver.store import queues


async def report_progress(database: Database, group: str, client: str, cursors: Mapping[ShardKey, int]) -> None:
    """Note the cursors. Idempotent; a cursor behind the one noted changes nothing.

    Raises:
        FailedPrecondition: a cursor belongs to no element of its queue; noted, it would trim what nobody has read.
    """
    async with database.transaction() as tx:
        for unknown in await queues.select_unknown_cursors(tx, client, cursors.items()):
            raise unknown_cursor(client, unknown.key, unknown.idx, unknown.ends)
        await queues.report_progress(tx, group, client, cursors)
