"""Client of the receiver: its queues, its registry and its schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import grpc.aio

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_queue_service_pb2 import (
    AppendFailedRequest,
    FailedElement,
    GetQueueEndsRequest,
    QueueCursor,
    ReadElementsRequest,
    RefillRequest,
    ReportProgressRequest,
)
from classifeed.documents.v1.index_queue_service_pb2 import RegistryPosition as RegistryPositionMessage
from classifeed.documents.v1.index_queue_service_pb2_grpc import IndexQueueServiceStub
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2 import GetSchemaRequest
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_common.errors import NotFound
from classifeed_common.rpc.status import response_of
from classifeed_common.telemetry.tracing import untraced
from classifeed_indexer.domain.refilling import RefillStep, RegistryPosition
from classifeed_indexer.domain.shards import ShardQueue

# Timeout in addition to the request's own maximum wait.
_RESPONSE_S: Final = 10.0


ElementPosition: TypeAlias = tuple[ShardQueue, int]


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a queue with its document, and the trace context of its push; empty: none."""

    key: ShardQueue
    idx: int
    document: RawDocument
    traceparent: str = ""

    @property
    def position(self) -> ElementPosition:
        """The element's queue and its index there."""
        return self.key, self.idx


@dataclass(frozen=True, slots=True)
class Failure:
    """An element that cannot be delivered, with the reason."""

    key: ShardQueue
    idx: int
    pk: str
    reason: str


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements that were read, in the order of each queue, and the new cursor of each queue that moved."""

    elements: Sequence[Element]
    next: Mapping[ShardQueue, int]


@dataclass(frozen=True, slots=True)
class QueueEnds:
    """Indices of a queue's last element, of its last trimmed one, and of the last reported as delivered; 0: none."""

    last_idx: int = 0
    trimmed_idx: int = 0
    delivered_idx: int = 0


class ReceiverClient:
    """Calls about one client's documents; every method raises the receiver's errors as DomainError."""

    def __init__(self, channel: grpc.aio.Channel, client: str) -> None:
        self.client = client
        self._queue = IndexQueueServiceStub(channel)
        self._schemas = SchemaServiceStub(channel)

    async def read(self, cursors: Mapping[ShardQueue, int], *, limit: int, wait_s: float) -> Elements:
        """Return the elements after the cursors; wait up to `wait_s` seconds for the first. May be cancelled.

        Raises:
            FailedPrecondition: CURSOR_TRIMMED or CURSOR_UNKNOWN; the metadata names queue and shard.
        """
        request = ReadElementsRequest(
            client=self.client,
            cursors=map(_cursor_of, cursors.items()),
            limit=limit,
            max_wait_ms=int(wait_s * 1000),
            bodies=True,
        )
        with untraced():  # several calls a second, and most find no element
            call = self._queue.ReadElements(request, timeout=wait_s + _RESPONSE_S)
        response = await response_of(call)
        elements = [Element(_key_of(e.position), e.position.idx, e.document, e.traceparent) for e in response.elements]
        return Elements(elements, {_key_of(cursor): cursor.idx for cursor in response.next})

    async def append_failed(self, failures: Sequence[Failure]) -> None:
        """Put elements into the queue `failed`. Idempotent."""
        elements = [
            FailedElement(position=_cursor_of((failure.key, failure.idx)), pk=failure.pk, reason=failure.reason[:2000])
            for failure in failures
        ]
        for start in range(0, len(elements), 1000):
            request = AppendFailedRequest(client=self.client, elements=elements[start : start + 1000])
            await response_of(self._queue.AppendFailed(request))

    async def report(self, group: str, offsets: Mapping[ShardQueue, int]) -> None:
        """Report the group's delivered offsets. Idempotent."""
        request = ReportProgressRequest(group=group, client=self.client, cursors=map(_cursor_of, offsets.items()))
        await response_of(self._queue.ReportProgress(request))

    async def list_ends(self, group: str) -> dict[ShardQueue, QueueEnds]:
        """Return the ends of each queue and the group's reported offsets; queues without elements are left out."""
        request = GetQueueEndsRequest(client=self.client, group=group)
        response = await response_of(self._queue.GetQueueEnds(request))
        return {
            ShardQueue(int(ends.queue), ends.shard): QueueEnds(ends.last_idx, ends.trimmed_idx, ends.delivered_idx)
            for ends in response.ends
        }

    async def refill(self, shard: int, after: RegistryPosition | None, last_idx: int, *, limit: int) -> RefillStep:
        """Put the next documents of a shard into its queue `emergency`. A repeated call delivers documents twice.

        Raises:
            FailedPrecondition: CURSOR_UNKNOWN, the elements up to `last_idx` are gone.
        """
        position = None if after is None else RegistryPositionMessage(hash=after.pk_hash, pk=after.pk)
        request = RefillRequest(client=self.client, shard=shard, after=position, last_idx=last_idx, limit=limit)
        response = await response_of(self._queue.Refill(request))
        following = RegistryPosition(response.next.hash, response.next.pk) if response.HasField("next") else None
        return RefillStep(response.elements, response.last_idx, following)

    async def find_schema(self, epoch: int) -> Schema | None:
        """Return the schema of an epoch; None when there is none."""
        try:
            return await response_of(self._schemas.GetSchema(GetSchemaRequest(client=self.client, epoch=epoch)))
        except NotFound:
            return None


def _cursor_of(item: tuple[ShardQueue, int]) -> QueueCursor:
    (queue, shard), idx = item
    return QueueCursor(queue=queue, shard=shard, idx=idx)  # type: ignore[arg-type]


def _key_of(cursor: QueueCursor) -> ShardQueue:
    return ShardQueue(int(cursor.queue), cursor.shard)
