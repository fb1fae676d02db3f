"""DecisionCheck: detects that a restore of moderation has lost decisions that offers has applied."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import structlog

from classifeed.moderation.v1.offer_texts_pb2 import TextsJudged, TextsToJudge
from classifeed_common.db import Database, Tx
from classifeed_common.kafka import message_of
from classifeed_common.loops import Loop, Looping
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store import judging
from classifeed_offers.store.judging import AppliedDecision

# Starts sending all decisions since a time, in the transaction that detects their loss.
StartReturn: TypeAlias = Callable[[Tx, datetime], Awaitable[None]]

_log = structlog.get_logger(__name__)


class DecisionCheck(Looping):
    """Asks moderation every `period_s` about the newest applied decision of each partition.

    The question is a request on the topic. Moderation responds only if it does not have the decision.
    """

    def __init__(self, database: Database, outbox: Outbox, *, period_s: float) -> None:
        self._database = database
        self._outbox = outbox
        self._period_s = period_s
        self.loop = Loop(
            self.round,
            period_s=period_s,
            name="checks of decisions",
            doing="checking decisions of moderation",
            effect="Decisions that a restore of moderation loses stay lost",
        )

    async def round(self) -> bool:
        """Ask about all decisions that no process has checked for half a period; return False, as no more are due."""
        async with self._database.transaction() as tx:
            due = await judging.claim_checks(tx, period_s=self._period_s / 2)
            checks = [
                TextsToJudge(**namespace._asdict(), applied_decision_id=decision_id) for decision_id, namespace in due
            ]
            await self._outbox.put(
                tx, [message_of(MODERATION_REQUESTS, check.seller_id.encode(), check) for check in checks]
            )
        self._outbox.wake()
        return False


async def note_decisions(
    tx: Tx, judged: Sequence[TextsJudged], partitions: Sequence[int], *, start_return: StartReturn
) -> None:
    """Record the newest decision of each partition, and start returning lost decisions to moderation.

    A report of a loss that is already known changes nothing.

    Args:
        tx: transaction for all effects.
        judged: outcomes in the order of their partitions.
        partitions: partition of each message in `judged`.
        start_return: starts the return of lost decisions.
    """
    newest: dict[int, AppliedDecision] = {}
    for partition, message in zip(partitions, judged, strict=True):
        decision_id = max((text.decision_id for text in message.texts), default=0)
        if decision_id > (newest[partition].decision_id if partition in newest else 0):
            newest[partition] = AppliedDecision(decision_id, Namespace(message.seller_id, message.namespace))
    if newest:
        await judging.note_applied(tx, newest)
    for message in judged:
        if not message.HasField("lost"):
            continue
        lost = message.lost
        if await judging.forget_applied(tx, decision_id=lost.decision_id, kept_decision_id=lost.kept_decision_id):
            since = lost.begin_time.ToDatetime(tzinfo=UTC)
            _log.warning("offers.decisions.lost", decision_id=lost.decision_id, since=since.isoformat())
            await start_return(tx, since)
