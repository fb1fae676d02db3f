"""Finds pictures that are due for another attempt, and sends notices of them to the resharder."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from classifeed.pictures.v1.events_pb2 import LookAgain
from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Slice
from classifeed_pictures.app.events.compose_messages import look_messages
from classifeed_pictures.store.states.states import get_now, list_due

_BEGIN: Final = (datetime(1970, 1, 1, tzinfo=UTC), b"")


async def find_due(read: Tx, write: Tx, cursor: Sequence[str] | None, *, outbox: Outbox, limit: int) -> Slice:
    """Send notices of the next due states.

    The processor checks again whether each state is due, so an unneeded notice is harmless.

    Args:
        read: transaction that reads the states, perhaps of a replica.
        write: transaction of the outbox.
        cursor: where to continue; None: at the beginning.
        outbox: outbox for the notices.
        limit: maximum number of states.
    """
    after = _BEGIN if cursor is None else (datetime.fromisoformat(cursor[0]), bytes.fromhex(cursor[1]))
    rows = await list_due(read, after=after, limit=limit)
    await outbox.put(write, look_messages({row.url: LookAgain() for row in rows}, await get_now(write)))
    if len(rows) < limit:
        return Slice(next=None, processed=len(rows))
    last: Any = rows[-1]
    return Slice(next=[last.next_attempt_at.isoformat(), bytes(last.url_hash).hex()], processed=len(rows))
