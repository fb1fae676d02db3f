"""Closes gaps in the events: offers requests all its pictures again."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from classifeed_common.db import Database
from classifeed_pictures.clients.offers import OffersClient
from classifeed_pictures.store.events import event_gaps

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CloseEventGaps:
    """Has offers request all its pictures again, since some may be unknown here.

    A known picture gets the same result as before, so an unneeded request changes nothing. Pictures of other clients
    are not covered: the clients have to request them again.

    Attributes:
        database: database with the gaps.
        offers: client that requests the pictures.
    """

    database: Database
    offers: OffersClient

    async def __call__(self) -> int:
        """Close all open gaps by one request, and return their number.

        Raises:
            grpc.aio.AioRpcError: offers does not respond; the gaps stay open.
        """
        async with self.database.transaction() as tx:
            gaps = await event_gaps.list_open(tx)
        if not gaps:
            return 0
        newest = gaps[-1].gap_id
        job_id = await self.offers.request_pictures(f"pictures-{newest}")
        async with self.database.transaction() as tx:
            await event_gaps.close_through(tx, newest)
        _log.warning("pictures.event_gap.closed", causes=[gap.cause for gap in gaps], job=job_id)
        return len(gaps)
