"""Find pictures that are due for another attempt, and send notices of them to the resharder."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from classifeed.pictures.v1.events_pb2 import LookAgain
from classifeed.pictures.v1.requests_pb2 import PictureNotice
from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Slice
from classifeed_pictures.app.events.compose_messages import notice_messages
from classifeed_pictures.store.states import list_due, read_now

_BEGIN: Final = (datetime(1970, 1, 1, tzinfo=UTC), b"")


async def find_due(read: Tx, write: Tx, cursor: Sequence[str] | None, *, outbox: Outbox, limit: int) -> Slice:
    """Send notices of the next states that are due.

    The processor checks once more that the time of each has come, so a notice too many does no harm.

    Args:
        read: of the states; may be that of a replica.
        write: of the outbox.
        cursor: where to go on; None: from the beginning.
        limit: states at once.
    """
    after = _BEGIN if cursor is None else (datetime.fromisoformat(cursor[0]), bytes.fromhex(cursor[1]))
    rows = await list_due(read, after=after, limit=limit)
    now = await read_now(write)
    notices = [PictureNotice(url=row.url, exact=True, notice_time=now, look_again=LookAgain()) for row in rows]
    await outbox.put(write, notice_messages(notices))
    if len(rows) < limit:
        return Slice(next=None, processed=len(rows))
    last: Any = rows[-1]
    return Slice(next=[last.next_attempt_at.isoformat(), bytes(last.url_hash).hex()], processed=len(rows))
