"""Push documents of changed offers to the receiver, and record its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from classifeed.documents.v1.receiver_service_pb2 import (
    PUSH_OUTCOME_ACK,
    PUSH_OUTCOME_INVALID,
    PUSH_OUTCOME_STALE,
    PushOutcome,
    PushResult,
)
from classifeed_common.db import Database, Tx
from classifeed_common.enum_names import name_of
from classifeed_common.pacing.yielding import map_yielding
from classifeed_domain.publishing import DocumentPublisher, Documents, PushedDocuments
from classifeed_offers.app.publishing.republish_offers import Republisher
from classifeed_offers.app.publishing.trace_pushes import PushTraces
from classifeed_offers.domain.documents import EPOCH, DueOffer, PictureRules, compose, schema
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.metrics import PUSHED, RAISED
from classifeed_offers.store import publishing
from classifeed_offers.store.publishing import Overtaken, Refused

_log = structlog.get_logger(__name__)

# An INVALID document counts as settled: pushing it again would fail each time and delay the others.
_SETTLED: Final = (PUSH_OUTCOME_ACK, PUSH_OUTCOME_STALE, PUSH_OUTCOME_INVALID)
_REASONS_LENGTH: Final = 1000


@dataclass(slots=True)
class Effects:
    """Effects of a push's results, to be written together with the mark."""

    positions: dict[int, int] = field(default_factory=dict)
    accepted: list[int] = field(default_factory=list)
    overtaken: list[Overtaken] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


class PublishOffers:
    """Push due offers for MarkPusher, for one pusher at a time; see DocumentPublisher.

    Attributes:
        publisher: pushes the documents.
    """

    def __init__(
        self,
        database: Database,
        documents: Documents,
        republisher: Republisher,
        pictures: PictureRules | None = None,
    ) -> None:
        self._database = database
        self._compose = partial(compose, rules=pictures or PictureRules())
        self.publisher = DocumentPublisher(
            database, documents, schema(), restart=republisher.restart, begin=republisher.begin_after
        )
        self._effects = Effects()
        self._traces = PushTraces()

    async def __call__(self, dues: Sequence[DueOffer]) -> list[bool]:
        """Push the offers that the publish mark selects, and return for each whether it is settled.

        The same offers may be pushed twice. An offer that is not settled stays due and is pushed again.

        Raises:
            DomainError: the outcome of these rows is unknown.
        """
        self._effects = Effects()
        documents = await map_yielding(self._compose, dues)
        with self._traces.push(dues, await self._loads(dues)) as traces:
            pushed = await self.publisher.push(documents, traces)
        self._effects = _effects_of(dues, pushed)
        for result in pushed.results:
            PUSHED.labels(name_of(PushOutcome, result.outcome)).inc()
        return [result.outcome in _SETTLED for result in pushed.results]

    async def record(self, tx: Tx) -> None:
        """Write the effects of the last push, in the transaction that moves its marks."""
        effects = self._effects
        await self.publisher.record(tx, effects.positions)
        if effects.accepted:
            await publishing.accept_documents(tx, effects.accepted)
        if effects.refused:
            await publishing.refuse_documents(tx, effects.refused)
        if effects.overtaken:
            raised = await publishing.raise_versions(tx, effects.overtaken)
            RAISED.inc(raised)
            _log.warning("offers.versions.raised", offers=raised, example=effects.overtaken[0])

    async def check(self) -> None:
        """Compare the receiver's state with what it acknowledged, while nothing is due.

        Raises:
            DomainError: the receiver is unreachable, or has lost data.
        """
        await self.publisher.check()

    async def _loads(self, dues: Sequence[DueOffer]) -> dict[Namespace, dict[str, str]]:
        """Return the traces of the loads that may have changed these offers."""
        async with self._database.connection() as connection:
            return await publishing.list_traces(connection, {Namespace(due.seller_id, due.namespace) for due in dues})


def _effects_of(dues: Sequence[DueOffer], pushed: PushedDocuments) -> Effects:
    effects = Effects(positions=pushed.positions)
    for due, result in zip(dues, pushed.results, strict=True):
        if result.outcome == PUSH_OUTCOME_INVALID:
            effects.refused.append(Refused(due.offer_id, due.version, _reasons_of(due, result)))
        elif result.outcome in _SETTLED:
            effects.accepted.append(due.offer_id)
        if (
            result.outcome == PUSH_OUTCOME_STALE
            and result.stored_epoch <= EPOCH
            and result.stored_version > due.version
        ):
            effects.overtaken.append(Overtaken(due.offer_id, due.version, result.stored_version))
    return effects


def _reasons_of(due: DueOffer, result: PushResult) -> str:
    reasons = [f"{it.field}: {it.description}" for it in result.violations.field_violations]
    _log.error(
        "offers.document.refused",
        seller=due.seller_id,
        namespace=due.namespace,
        external_id=due.external_id,
        version=due.version,
        reasons=reasons,
    )
    return "; ".join(reasons)[:_REASONS_LENGTH]
