"""TextRequester: requests verdicts again that have not come, whatever was lost on the way."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Database, is_passing_fault
from classifeed_common.kafka import message_of
from classifeed_common.outbox import Outbox
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.waiting import wait_for_event
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_offers.app.apply_batches import texts_to_judge
from classifeed_offers.domain.moderation import text_to_judge
from classifeed_offers.domain.offers import Status
from classifeed_offers.metrics import TEXTS_REQUESTED_AGAIN, TEXTS_WAITING
from classifeed_offers.store import applying, judging

_ROWS: Final = 1000
_log = structlog.get_logger(__name__)


class TextRequester:
    """Requests texts again that have waited for longer than `wait_s`; moderation responds out of what it has stored."""

    def __init__(self, database: Database, outbox: Outbox, *, wait_s: float, period_s: float) -> None:
        self._database = database
        self._outbox = outbox
        self._wait_s = wait_s
        self._period_s = period_s

    async def run(self, stop: asyncio.Event) -> None:
        """Look every `period_s` until `stop`."""
        while not stop.is_set():
            try:
                while await self.round() and not stop.is_set():
                    pass
                TEXTS_WAITING.set((await self.backlog())["texts_waiting"])
            except Exception as error:
                if not is_passing_fault(error):
                    raise
                log_fault(_log, "offers.texts.not_requested", error, retry_in_s=self._period_s)
            await wait_for_event(stop, self._period_s)

    async def round(self) -> bool:
        """Request the next texts; return whether more may wait."""
        async with self._database.connection() as connection:
            found = await judging.find_unanswered(connection, wait_s=self._wait_s, limit=_ROWS)
        for namespace, external_ids in found.items():
            async with self._database.transaction() as tx:
                await applying.lock_heads(tx, {namespace})
                rows = await judging.request_again(tx, namespace, external_ids, wait_s=self._wait_s)
                texts = [
                    text_to_judge(
                        row.external_id, OfferContent.FromString(row.content), row.text_hash, row.content_version
                    )
                    for row in rows
                    if row.status != Status.REMOVED
                ]
                messages = texts_to_judge(namespace, texts)
                key = namespace.seller_id.encode()
                await self._outbox.put(tx, [message_of(MODERATION_REQUESTS, key, message) for message in messages])
            self._outbox.wake()
            TEXTS_REQUESTED_AGAIN.inc(len(texts))
        return sum(map(len, found.values())) == _ROWS

    async def backlog(self) -> dict[str, int]:
        """Return how many texts wait for their verdict."""
        async with self._database.connection() as connection:
            return {"texts_waiting": (await judging.count_unanswered(connection))[0]}
