"""Publish what changed: documents of due offers to the receiver, and which of them are done with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import structlog
from prometheus_client import Counter

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import (
    PUSH_OUTCOME_ACK,
    PUSH_OUTCOME_INVALID,
    PUSH_OUTCOME_STALE,
    PushOutcome,
    PushResult,
)
from classifeed_offers.domain.documents import DueOffer, compose

_log = structlog.get_logger(__name__)

PUSHED: Final = Counter(
    "classifeed_offers_pushed_documents", "Documents that the receiver answered, by its outcome", ("outcome",)
)
# An INVALID one is done with as well: it would be refused again for ever, and hold up the others.
_SETTLED: Final = (PUSH_OUTCOME_ACK, PUSH_OUTCOME_STALE, PUSH_OUTCOME_INVALID)


class Documents(Protocol):
    """Takes documents; idempotent."""

    async def push(self, documents: Sequence[RawDocument]) -> list[PushResult]:
        """Return what became of each, in their order; raises when nothing is known."""
        ...


async def publish_offers(rows: Sequence[tuple[Any, ...]], *, documents: Documents) -> list[bool]:
    """Push the offers of `rows` (as the publish mark selects them) and return for each whether it is settled.

    May run twice with the same rows. What is not settled stays due and is pushed again.
    """
    dues = [DueOffer(*row) for row in rows]
    results = await documents.push([compose(due) for due in dues])
    for due, result in zip(dues, results, strict=True):
        PUSHED.labels(PushOutcome.Name(result.outcome).removeprefix("PUSH_OUTCOME_")).inc()
        if result.outcome == PUSH_OUTCOME_INVALID:
            _log.error(
                "the receiver refuses an offer; it is not in the search until it changes",
                seller=due.seller_id,
                namespace=due.namespace,
                external_id=due.external_id,
                version=due.version,
                reasons=[f"{it.field}: {it.description}" for it in result.violations.field_violations],
            )
    return [result.outcome in _SETTLED for result in results]
