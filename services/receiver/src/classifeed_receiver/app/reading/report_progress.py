"""Store the progress of a consumer group; the queues are trimmed by it."""

from __future__ import annotations

from collections.abc import Mapping

from classifeed_common.db import Database
from classifeed_receiver.domain.cursors import ShardKey, unknown_cursor
from classifeed_receiver.store import queues


async def report_progress(database: Database, group: str, client: str, cursors: Mapping[ShardKey, int]) -> None:
    """Store the cursors. Idempotent; a cursor lower than the stored one changes nothing.

    Raises:
        FailedPrecondition: a cursor is no element of its queue; storing it could trim elements that were never read.
    """
    async with database.transaction() as tx:
        for unknown in await queues.list_unknown_cursors(tx, client, cursors.items()):
            raise unknown_cursor(client, unknown.key, unknown.idx, unknown.ends)
        await queues.report_progress(tx, group, client, cursors)
