"""Publish what changed: documents of due offers to the receiver, and what its results mean for them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import (
    PUSH_OUTCOME_ACK,
    PUSH_OUTCOME_INVALID,
    PUSH_OUTCOME_STALE,
    PushOutcome,
    PushResult,
)
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.db import Database, Tx
from classifeed_common.enum_names import name_of
from classifeed_common.errors import FailedPrecondition, Unimplemented
from classifeed_common.yielding import map_yielding
from classifeed_offers.app.republish_offers import Republisher
from classifeed_offers.app.trace_pushes import PushTraces
from classifeed_offers.clients.receiver import PushedDocuments
from classifeed_offers.domain.documents import EPOCH, DueOffer, compose, schema
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.metrics import PUSHED, RAISED
from classifeed_offers.store import publishing
from classifeed_offers.store.publishing import Overtaken, Refused

_log = structlog.get_logger(__name__)

# An INVALID one is done with as well: it would be refused again for ever, and hold up the others.
_SETTLED: Final = (PUSH_OUTCOME_ACK, PUSH_OUTCOME_STALE, PUSH_OUTCOME_INVALID)
# How long the receiver must be ahead of us before that means more than a result that we have not noted yet.
_AHEAD_FOR_S: Final = 30.0
_REASONS_LENGTH: Final = 1000


class Documents(Protocol):
    """Takes documents and schemas; idempotent."""

    async def push(
        self, documents: Sequence[RawDocument], known: Mapping[int, int], traces: Mapping[int, str]
    ) -> PushedDocuments:
        """Return the result of each, in their order; raise when nothing is known."""
        ...

    async def check_positions(self, known: Mapping[int, int]) -> dict[int, int]:
        """Return where the queues end; raise as `push` does."""
        ...

    async def put_schema(self, schema: Schema) -> None:
        """Put the schema of an epoch."""
        ...


@dataclass(slots=True)
class Effects:
    """What the results of a push mean, to be written with the mark."""

    positions: dict[int, int] = field(default_factory=dict)
    accepted: list[int] = field(default_factory=list)
    overtaken: list[Overtaken] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


class PublishOffers:
    """Push due offers for MarkPusher, for one pusher at a time.

    It keeps the newest elements that the receiver acknowledged, in the transaction of the mark, and sends them with
    each push: a receiver that went back behind them refuses before it writes anything, and everything is pushed again.
    Where the receiver is ahead of what is kept, it is this table that went back.
    """

    def __init__(self, database: Database, documents: Documents, republisher: Republisher) -> None:
        self._database = database
        self._documents = documents
        self._republisher = republisher
        self._effects = Effects()
        self._ahead: dict[tuple[int, int, int], float] = {}
        self._traces = PushTraces()

    async def __call__(self, rows: Sequence[tuple[Any, ...]]) -> list[bool]:
        """Push the offers of `rows` (as the publish mark selects them) and return for each whether it is settled.

        May run twice with the same rows. What is not settled stays due and is pushed again.

        Raises:
            DomainError: nothing is known of these rows.
        """
        self._effects = Effects()
        self._ahead.clear()
        dues = [DueOffer(*row) for row in rows]
        documents = await map_yielding(compose, dues)
        known = await self._known()
        try:
            with self._traces.push(dues, await self._loads(dues)) as traces:
                pushed = await self._documents.push(documents, known, traces)
        except FailedPrecondition as error:
            await self._recover(error)
            raise
        self._effects = _effects_of(dues, pushed)
        for result in pushed.results:
            PUSHED.labels(name_of(PushOutcome, result.outcome)).inc()
        return [result.outcome in _SETTLED for result in pushed.results]

    async def record(self, tx: Tx) -> None:
        """Write what the last push means, in the transaction that moves its marks."""
        effects = self._effects
        if effects.positions:
            await publishing.write_positions(tx, effects.positions)
        if effects.accepted:
            await publishing.accept_documents(tx, effects.accepted)
        if effects.refused:
            await publishing.refuse_documents(tx, effects.refused)
        if effects.overtaken:
            raised = await publishing.raise_versions(tx, effects.overtaken)
            RAISED.inc(raised)
            _log.warning("offers.versions.raised", offers=raised, example=effects.overtaken[0])

    async def check(self) -> None:
        """Compare what the receiver has with what it acknowledged, while nothing is due.

        Raises:
            DomainError: the receiver is away, or went back.
        """
        try:
            known = await self._known()
            ends = await self._documents.check_positions(known)
        except Unimplemented:
            return  # a receiver that is older than we are
        except FailedPrecondition as error:
            await self._recover(error)
            raise
        now_s = asyncio.get_running_loop().time()
        ahead = {(shard, known.get(shard, 0), end) for shard, end in ends.items() if end > known.get(shard, 0)}
        self._ahead = {gap: self._ahead.get(gap, now_s) for gap in ahead}
        if any(now_s - since_s >= _AHEAD_FOR_S for since_s in self._ahead.values()):
            await self._republisher.begin_after_own_loss(known, ends)

    async def _known(self) -> dict[int, int]:
        """Return what the receiver has acknowledged; what it has now where nothing was ever noted."""
        async with self._database.connection() as connection:
            known = await publishing.select_positions(connection)
        if known:
            return known
        try:
            ends = await self._documents.check_positions({})
        except Unimplemented:
            return {}
        async with self._database.transaction() as tx:
            await publishing.write_positions(tx, ends)
        return ends

    async def _loads(self, dues: Sequence[DueOffer]) -> dict[Namespace, dict[str, str]]:
        """Return the traces of the loads that these offers can have changed by."""
        async with self._database.connection() as connection:
            return await publishing.select_traces(connection, {Namespace(due.seller_id, due.namespace) for due in dues})

    async def _recover(self, error: FailedPrecondition) -> None:
        if error.reason in {"CLIENT_HAS_NO_SCHEMA", "REGISTRY_WENT_BACK"}:
            await self._documents.put_schema(schema())
        if error.reason == "REGISTRY_WENT_BACK":
            ends = await self._documents.check_positions({})
            lost = (int(error.metadata["shard"]), int(error.metadata["idx"]))
            await self._republisher.begin_after_loss(lost, ends)


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
