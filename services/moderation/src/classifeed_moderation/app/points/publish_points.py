"""Push documents of changed points to the receiver, and record its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog

from classifeed.documents.v1.receiver_service_pb2 import (
    PUSH_OUTCOME_ACK,
    PUSH_OUTCOME_INVALID,
    PUSH_OUTCOME_STALE,
    PushOutcome,
)
from classifeed_common.db import Tx
from classifeed_common.enum_names import name_of
from classifeed_common.pacing.yielding import map_yielding
from classifeed_domain.publishing import DocumentPublisher
from classifeed_moderation.domain.documents import EPOCH, DuePoint, compose
from classifeed_moderation.metrics import PUSHED
from classifeed_moderation.store import publishing
from classifeed_moderation.store.publishing import Overtaken

# An INVALID document counts as settled: pushing it again would fail each time and delay the others.
_SETTLED: Final = (PUSH_OUTCOME_ACK, PUSH_OUTCOME_STALE, PUSH_OUTCOME_INVALID)
_log = structlog.get_logger(__name__)


class PublishPoints:
    """Push due points for MarkPusher, for one pusher at a time; see DocumentPublisher."""

    def __init__(self, publisher: DocumentPublisher) -> None:
        self._publisher = publisher
        self._positions: dict[int, int] = {}
        self._overtaken: list[Overtaken] = []

    async def __call__(self, dues: Sequence[DuePoint]) -> list[bool]:
        """Push the points that the publish mark selects, and return for each whether it is settled.

        Raises:
            DomainError: the outcome of these rows is unknown.
        """
        self._positions, self._overtaken = {}, []
        pushed = await self._publisher.push(await map_yielding(compose, dues))
        self._positions = pushed.positions
        for due, result in zip(dues, pushed.results, strict=True):
            PUSHED.labels(name_of(PushOutcome, result.outcome)).inc()
            if result.outcome == PUSH_OUTCOME_INVALID:
                reasons = [f"{it.field}: {it.description}" for it in result.violations.field_violations]
                _log.error("moderation.document.refused", point=str(due.point_id), version=due.version, reasons=reasons)
            if (
                result.outcome == PUSH_OUTCOME_STALE
                and result.stored_epoch <= EPOCH
                and result.stored_version > due.version
            ):
                self._overtaken.append(Overtaken(due.point_id, due.version, result.stored_version))
        return [result.outcome in _SETTLED for result in pushed.results]

    async def record(self, tx: Tx) -> None:
        """Write the effects of the last push, in the transaction that moves its marks."""
        await self._publisher.record(tx, self._positions)
        if self._overtaken:
            raised = await publishing.raise_versions(tx, self._overtaken)
            _log.warning("moderation.versions.raised", points=raised, example=str(self._overtaken[0].point_id))

    async def check(self) -> None:
        """Compare the receiver's state with what it acknowledged, while nothing is due.

        Raises:
            DomainError: the receiver is unreachable, or has lost data.
        """
        await self._publisher.check()
