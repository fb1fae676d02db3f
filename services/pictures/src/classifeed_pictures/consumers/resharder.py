"""Consumes pictures.requests.v1 and pictures.loads.v1: sends each request, notice and result to the shard of its URL.

The resharder stores only positions, which move once the events are acknowledged. An event may therefore be sent twice,
or late by a process that was paused, but it is never lost. Each event names where it was read and when it happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.pictures.v1.events_pb2 import EventSource
from classifeed.pictures.v1.orders_pb2 import LoadResult
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed.pictures.v1.requests_pb2 import (
    PictureNotices,
    PictureRequest,
    PictureRequests,
    PictureResult,
    PictureResults,
)
from classifeed_common.db import Tx, after_commit
from classifeed_common.kafka import (
    MAX_MESSAGE_BYTES,
    DeadLetters,
    Message,
    Poison,
    Record,
    decode_all,
    message_of,
    trace_of,
)
from classifeed_common.pacing.yielding import Yielder
from classifeed_domain.topics import PICTURES_EVENTS, PICTURES_LOADS, PICTURES_REQUESTS, PICTURES_RESULTS, declared
from classifeed_pictures.app.events.make_events import EventMaker
from classifeed_pictures.app.events.send_messages import Sender, send_messages
from classifeed_pictures.consumers.decode_inputs import Input, decode_input, is_time
from classifeed_pictures.domain.item_faults import REQUEST_INVALID, ItemFault
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.metrics import EVENTS, REFUSED

GROUP: Final = "pictures-resharder"
TOPICS: Final = (PICTURES_REQUESTS, PICTURES_LOADS)
_TIME_INVALID: Final = ItemFault(REQUEST_INVALID, "The time is outside of the years 1 to 9999")
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Made:
    """The messages made of records so far.

    Attributes:
        events: messages for the shards.
        refusals: results of unusable requests, for their senders.
        letters: records with items that cannot be reported to a sender, with the reasons.
        of_loads: number of events made of results.
    """

    events: list[Message] = field(default_factory=list)
    refusals: list[Message] = field(default_factory=list)
    letters: list[tuple[Record, str]] = field(default_factory=list)
    of_loads: int = 0


class Resharder:
    """Handles batches of records, for an OrderedConsumer.

    An unusable request gets its result here, since it has no key under which the processor could store it. An unusable
    notice has no sender that could be informed, so a copy of its record goes to the dead letters. The other items of
    such records are processed.

    Args:
        producer: producer of events and results; their acknowledgements are awaited.
        dead_letters: dead letters for records with items that cannot be reported to a sender.
        current_rules: returns the rules of canonical URLs; called once per batch.
        events_topic: topic of the events.
        partitions: declared number of its partitions.
        results_topic: topic of the results.
    """

    def __init__(
        self,
        producer: Sender,
        dead_letters: DeadLetters,
        *,
        current_rules: Callable[[], CanonicalRules],
        events_topic: str = PICTURES_EVENTS,
        partitions: int = declared(PICTURES_EVENTS).partitions,
        results_topic: str = PICTURES_RESULTS,
    ) -> None:
        self._producer = producer
        self._dead_letters = dead_letters
        self._current_rules = current_rules
        self._events_topic = events_topic
        self._partitions = partitions
        self._results_topic = results_topic

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Return once the events of a batch are acknowledged. It may run again with the same records.

        Raises:
            Poison: a record has an unknown type, or breaks the protocol.
            Unavailable: Kafka does not acknowledge the events.
        """
        inputs = decode_all(records, decode_input)
        maker = EventMaker(self._current_rules(), self._partitions, self._events_topic)
        made = _Made()
        yielder = Yielder()
        for record, message in zip(records, inputs, strict=True):
            await self._make(maker, record, message, made, yielder)
            await yielder.yield_if_due()
        await send_messages(self._producer, [*made.events, *made.refusals])
        for record, reason in made.letters:
            await self._dead_letters.put(GROUP, record, reason)
        after_commit(tx, lambda: _report(made))

    async def _make(self, maker: EventMaker, record: Record, message: Input, made: _Made, yielder: Yielder) -> None:
        source = EventSource(name=record.topic, partition=record.partition, position=record.offset)
        trace = trace_of(record)
        if isinstance(message, LoadResult):
            time = _time_of(message.load_time if message.HasField("load_time") else None, record)
            event = maker.of_load(message, source=source, time=time, trace=trace)
            if event.size_bytes > MAX_MESSAGE_BYTES:
                raise Poison(record, f"its event has {event.size_bytes} bytes; {MAX_MESSAGE_BYTES} are allowed")
            made.events.append(event)
            made.of_loads += 1
            return
        faults = (
            await self._make_of_requests(maker, record, message, source, made, yielder)
            if isinstance(message, PictureRequests)
            else await self._make_of_notices(maker, record, message, source, made, yielder)
        )
        if faults:
            made.letters.append((record, "; ".join(faults)))

    async def _make_of_requests(
        self,
        maker: EventMaker,
        record: Record,
        message: PictureRequests,
        source: EventSource,
        made: _Made,
        yielder: Yielder,
    ) -> list[str]:
        """Return the faults of requests for which not even a result can be sent."""
        faults: list[str] = []
        trace = trace_of(record)
        for number, request in enumerate(message.requests):
            await yielder.yield_if_due()  # a record may have a hundred URLs that take milliseconds each
            time = _time_of(request.request_time if request.HasField("request_time") else None, record)
            found: Message | ItemFault = _TIME_INVALID
            if is_time(time):
                found = maker.of_request(
                    request,
                    recipient=message.recipient,
                    client=message.client,
                    source=source,
                    time=time,
                    trace=trace,
                )
            if isinstance(found, Message):
                made.events.append(found)
                continue
            refusal = message_of(
                self._results_topic,
                message.recipient.encode(),
                PictureResults(recipient=message.recipient, results=[_refusal(request, found)]),
                trace=trace,
            )
            if refusal.size_bytes > MAX_MESSAGE_BYTES:
                faults.append(f"requests[{number}]: {found.words}, and its result would be too large")
            else:
                made.refusals.append(refusal)
        return faults

    async def _make_of_notices(
        self,
        maker: EventMaker,
        record: Record,
        message: PictureNotices,
        source: EventSource,
        made: _Made,
        yielder: Yielder,
    ) -> list[str]:
        """Return the faults of unusable notices."""
        faults: list[str] = []
        trace = trace_of(record)
        for number, notice in enumerate(message.notices):
            await yielder.yield_if_due()
            time = _time_of(notice.notice_time if notice.HasField("notice_time") else None, record)
            found: Message | ItemFault = _TIME_INVALID
            if is_time(time):
                found = maker.of_notice(notice, source=source, time=time, trace=trace)
            if isinstance(found, Message):
                made.events.append(found)
            else:
                faults.append(f"notices[{number}]: {found.words}")
        return faults


def _time_of(own: Timestamp | None, record: Record) -> Timestamp:
    """Return the message's own time, or that of the record; the same for each read."""
    if own is not None:
        return own
    time = Timestamp()
    time.FromMilliseconds(max(record.timestamp_ms, 0))
    return time


def _refusal(request: PictureRequest, fault: ItemFault) -> PictureResult:
    """Return the result of a request for which no attempt was made."""
    return PictureResult(
        url=request.url,
        namespace=request.namespace,
        reference=request.reference,
        failure=LoadFailure(code=fault.code, message=fault.words),
    )


def _report(made: _Made) -> None:
    EVENTS.labels("requests").inc(len(made.events) - made.of_loads)
    EVENTS.labels("loads").inc(made.of_loads)
    REFUSED.labels("result_sent").inc(len(made.refusals))
    REFUSED.labels("dead_letter").inc(len(made.letters))
    if made.refusals:
        _log.info("pictures.requests.refused", requests=len(made.refusals))
    for record, reason in made.letters:
        _log.error(
            "pictures.items.refused",
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            reason=reason,
        )
