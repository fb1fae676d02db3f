"""Convert elements into messages for the index's topic; report a reason for each that cannot be converted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry.context import Context

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed_common.clock import Clock
from classifeed_common.kafka import MAX_MESSAGE_BYTES, Message, message_of
from classifeed_common.lease import Lease
from classifeed_common.pacing.yielding import Yielder
from classifeed_domain.topics import index_documents
from classifeed_indexer.clients.receiver import Element, ElementPosition, Failure, ReceiverClient
from classifeed_indexer.domain.conversion import Converter, Unconvertible

# Otherwise each document that does not fit its schema would cause another request for the schema.
_MIN_AGE_S: Final = 1.0
_NO_TRACES: Final[Mapping[ElementPosition, Context]] = {}


class ConvertElements:
    """Convert a client's elements, each by the schema of its epoch.

    To convert an element for every open epoch, extend this class; today it uses the element's own epoch only.
    """

    def __init__(self, receiver: ReceiverClient, clock: Clock) -> None:
        self._receiver = receiver
        self._clock = clock
        self._topic = index_documents(receiver.client)
        self._converters: dict[int, tuple[Converter | None, float]] = {}

    async def __call__(
        self,
        elements: Iterable[Element],
        leases: Mapping[int, Lease],
        traces: Mapping[ElementPosition, Context] = _NO_TRACES,
    ) -> tuple[list[Message], list[Failure]]:
        """Return the messages of the convertible elements, in their order, and a failure for each other element.

        Args:
            elements: elements of shards that this process holds.
            leases: lease of each shard; the message carries its fence.
            traces: trace contexts to propagate in the messages, by element.

        Raises:
            DomainError: the request for a schema failed.
        """
        messages: list[Message] = []
        failures: list[Failure] = []
        yielder = Yielder()
        for element in elements:
            await yielder.yield_if_due()
            try:
                converted = await self._convert(element.document)
                trace = traces.get(element.position)
                messages.append(self._message_of(converted, element, leases[element.key.shard], trace))
            except Unconvertible as fault:
                failures.append(Failure(element.key, element.idx, element.document.pk, str(fault)))
        return messages, failures

    async def _convert(self, document: RawDocument) -> IndexDocument:
        epoch = document.epoch
        try:
            return (await self._converter(epoch)).convert(document)
        except Unconvertible:
            if self._clock.monotonic_s() - self._converters[epoch][1] <= _MIN_AGE_S:
                raise
            # Since we read it, the schema may have a new field, or the epoch its first schema.
            del self._converters[epoch]
            return (await self._converter(epoch)).convert(document)

    async def _converter(self, epoch: int) -> Converter:
        if epoch not in self._converters:
            schema = await self._receiver.find_schema(epoch)
            converter = None if schema is None else Converter(schema)
            self._converters[epoch] = (converter, self._clock.monotonic_s())
        converter = self._converters[epoch][0]
        if converter is None:
            raise Unconvertible(f"epoch {epoch} has no schema")
        return converter

    def _message_of(self, converted: IndexDocument, element: Element, lease: Lease, trace: Context | None) -> Message:
        converted.fence = lease.fence
        converted.queue = element.key.queue  # type: ignore[assignment]
        converted.shard = element.key.shard
        converted.idx = element.idx
        key = converted.pk.encode()
        message = message_of(self._topic, key, converted, partition=element.key.shard, trace=trace)
        if message.size_bytes > MAX_MESSAGE_BYTES:
            raise Unconvertible(f"the document has {message.size_bytes} bytes, Kafka takes {MAX_MESSAGE_BYTES}")
        return message
