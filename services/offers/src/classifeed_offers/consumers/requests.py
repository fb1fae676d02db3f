"""The door for feeds.offer-requests.v1: applies polls of requests and puts the answers into the outbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from google.protobuf.message import Message as ProtobufMessage
from opentelemetry.context import Context

from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_INCOMPLETE,
    OfferBatchResult,
    RunCheckResult,
    TaskEndResult,
)
from classifeed_common.db import Database, Tx
from classifeed_common.kafka import (
    GroupPartition,
    Message,
    Position,
    Record,
    TablePositions,
    decode_all,
    message_of,
    trace_of,
)
from classifeed_common.outbox import Outbox
from classifeed_common.telemetry.tracing import describe_span
from classifeed_domain.topics import FEEDS_OFFER_RESULTS
from classifeed_offers.app.apply_requests import NO_TRACES, Sweeps, apply_requests
from classifeed_offers.consumers.decode import decode_request, fault_of_address, parse_request
from classifeed_offers.domain.admission import RunKey, run_key_of
from classifeed_offers.domain.answers import refused_batch, run_ended
from classifeed_offers.domain.ending import Guard
from classifeed_offers.domain.moderation import Moderation

GROUP: Final = "offers"
_REASON_LIMIT_CHARS: Final = 500


def answer_message(
    answer: ProtobufMessage, *, topic: str = FEEDS_OFFER_RESULTS, traces: Mapping[RunKey, Context] = NO_TRACES
) -> Message:
    """Return an answer as a message under its seller's key, in the trace of its run or else the current one."""
    assert isinstance(answer, OfferBatchResult | TaskEndResult | RunCheckResult)
    return message_of(topic, answer.seller_id.encode(), answer, trace=traces.get(run_key_of(answer)))


class RequestHandler:
    """Handles polls of requests, for an OrderedConsumer over TablePositions."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        moderation: Moderation,
        sweeps: Sweeps,
        guard: Guard,
        results_topic: str = FEEDS_OFFER_RESULTS,
    ) -> None:
        self._outbox = outbox
        self._moderation = moderation
        self._sweeps = sweeps
        self._guard = guard
        self._results_topic = results_topic

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Apply the requests of a poll and answer them, all in `tx`.

        Raises:
            Poison: a record is no request, or breaks the protocol.
        """
        requests = decode_all(records, decode_request)
        traces = {run_key_of(request): trace_of(record) for record, request in zip(records, requests, strict=True)}
        for key, trace in traces.items():
            describe_span(trace, **key.names)
        answers = await apply_requests(
            tx, requests, moderation=self._moderation, sweeps=self._sweeps, guard=self._guard, traces=traces
        )
        await self._answer(tx, answers, traces)

    async def refuse(self, tx: Tx, record: Record, reason: str) -> None:
        """Reply to the sender of a dead letter, so that it does not wait: the run has to come again.

        Nobody is known to wait for what cannot be read; a check of the run, or its end, finds such a batch missing.
        """
        request = parse_request(record)
        if request is None or fault_of_address(record, request) is not None:
            return
        traces = {run_key_of(request): trace_of(record)}
        if isinstance(request, OfferBatch):
            await self._answer(tx, [refused_batch(request, reason[:_REASON_LIMIT_CHARS])], traces)
        elif isinstance(request, TaskEnd):
            await self._answer(tx, [run_ended(run_key_of(request), TASK_END_OUTCOME_INCOMPLETE)], traces)

    async def _answer(self, tx: Tx, answers: Sequence[ProtobufMessage], traces: Mapping[RunKey, Context]) -> None:
        messages = [answer_message(answer, topic=self._results_topic, traces=traces) for answer in answers]
        await self._outbox.put(tx, messages)


class WakingPositions(TablePositions):
    """Positions whose committed effect wakes who sends on: answers and documents leave at once, not at a later look."""

    def __init__(self, db: Database, *wakes: Callable[[], None]) -> None:
        super().__init__(db)
        self._wakes = wakes

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[Any]:
        """Open an effect; see TablePositions."""
        async with super().effect(expected, new) as tx:
            yield tx
        for wake in self._wakes:
            wake()
