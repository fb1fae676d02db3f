"""Consume feeds.offer-requests.v1: apply polls of requests, and put their results into the outbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from google.protobuf.message import Message as ProtobufMessage
from opentelemetry.context import Context

from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_INCOMPLETE,
    OfferBatchResult,
    RunCheckResult,
    TaskEndResult,
)
from classifeed.moderation.v1.offer_texts_pb2 import TextsToJudge
from classifeed.pictures.v1.requests_pb2 import PictureRequests
from classifeed_common.db import Tx
from classifeed_common.kafka import (
    Message,
    Record,
    decode_all,
    message_of,
    trace_of,
)
from classifeed_common.outbox import Outbox
from classifeed_common.telemetry.tracing import describe_span
from classifeed_domain.topics import FEEDS_OFFER_RESULTS, MODERATION_REQUESTS, PICTURES_REQUESTS
from classifeed_offers.app.loads.apply_requests import NO_TRACES, Sweeps, apply_requests
from classifeed_offers.consumers.decode import decode_request, fault_of_address, parse_request
from classifeed_offers.domain.admission import RunKey, run_key_of
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import Moderation
from classifeed_offers.domain.results import refused_batch, run_ended

GROUP: Final = "offers"
_REASON_LIMIT_CHARS: Final = 500


def reply_message(
    reply: ProtobufMessage, *, topic: str = FEEDS_OFFER_RESULTS, traces: Mapping[RunKey, Context] = NO_TRACES
) -> Message:
    """Return a reply as a message with the seller's key, in the trace of its run if there is one, or the current trace.

    Texts to be judged go to moderation, and requests for pictures to the service of pictures.
    """
    if isinstance(reply, TextsToJudge):
        return message_of(MODERATION_REQUESTS, reply.seller_id.encode(), reply)
    if isinstance(reply, PictureRequests):
        return message_of(PICTURES_REQUESTS, reply.recipient.encode(), reply)
    assert isinstance(reply, OfferBatchResult | TaskEndResult | RunCheckResult)
    return message_of(topic, reply.seller_id.encode(), reply, trace=traces.get(run_key_of(reply)))


class RequestHandler:
    """Handles polls of requests for an OrderedConsumer over TablePositions."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        moderation: Moderation,
        sweeps: Sweeps,
        guard: Guard,
        requests_pictures: bool = False,
        results_topic: str = FEEDS_OFFER_RESULTS,
    ) -> None:
        self._outbox = outbox
        self._moderation = moderation
        self._sweeps = sweeps
        self._guard = guard
        self._requests_pictures = requests_pictures
        self._results_topic = results_topic

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Apply the requests of a poll and reply to them, all in `tx`.

        Raises:
            Poison: a record is no request, or breaks the protocol.
        """
        requests = decode_all(records, decode_request)
        traces = {run_key_of(request): trace_of(record) for record, request in zip(records, requests, strict=True)}
        for key, trace in traces.items():
            describe_span(trace, **key.names)
        replies = await apply_requests(
            tx,
            requests,
            moderation=self._moderation,
            sweeps=self._sweeps,
            guard=self._guard,
            requests_pictures=self._requests_pictures,
            traces=traces,
        )
        await self._reply(tx, replies, traces)

    async def refuse(self, tx: Tx, record: Record, reason: str) -> None:
        """Reply to the sender of a dead letter, so that it does not wait: the run must be sent again.

        A record that cannot be read gets no reply, because its sender is unknown. A check or the end of the run
        detects that its batch is missing.
        """
        request = parse_request(record)
        if request is None or fault_of_address(record, request) is not None:
            return
        traces = {run_key_of(request): trace_of(record)}
        if isinstance(request, OfferBatch):
            await self._reply(tx, [refused_batch(request, reason[:_REASON_LIMIT_CHARS])], traces)
        elif isinstance(request, TaskEnd):
            await self._reply(tx, [run_ended(run_key_of(request), TASK_END_OUTCOME_INCOMPLETE)], traces)

    async def _reply(self, tx: Tx, replies: Sequence[ProtobufMessage], traces: Mapping[RunKey, Context]) -> None:
        messages = [reply_message(reply, topic=self._results_topic, traces=traces) for reply in replies]
        await self._outbox.put(tx, messages)
