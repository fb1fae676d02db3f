"""IndexQueueService: the queues between registry and index, for the indexer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from classifeed.documents.v1 import index_queue_service_pb2 as pb
from classifeed.documents.v1.index_queue_service_pb2_grpc import IndexQueueServiceServicer
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.context import Context
from classifeed_receiver.app.reading.append_failed import append_failed
from classifeed_receiver.app.reading.digest_shards import ShardDigest, digest_shards
from classifeed_receiver.app.reading.read_elements import ReadElements
from classifeed_receiver.app.reading.refill_shard import refill_shard
from classifeed_receiver.app.reading.report_progress import report_progress
from classifeed_receiver.app.reading.scan_documents import ScanDocuments
from classifeed_receiver.app.reading.serve_fields import serialized_with_fields, with_fields
from classifeed_receiver.domain.cursors import ShardKey
from classifeed_receiver.domain.positions import RegistryPosition
from classifeed_receiver.store import queues
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs
from classifeed_receiver.store.queues import Failure

_DEFAULT_LIMIT: Final = 100
_DEFAULT_REFILL: Final = 1000
_DEFAULT_PAGE_BYTES: Final = 3_500_000


class IndexQueueService(IndexQueueServiceServicer):
    """Access to the queues (read, append failures, report progress, refill) and to the registry (scan, digest)."""

    def __init__(
        self, database: Database, read_elements: ReadElements, signal: CommitSignal, epochs: KnownEpochs
    ) -> None:
        self._database = database
        self._read_elements = read_elements
        self._signal = signal
        self._epochs = epochs
        self._scan_documents = ScanDocuments(database, epochs)

    async def ReadElements(self, request: pb.ReadElementsRequest, context: Context) -> pb.ReadElementsResponse:
        """Read elements after the cursors; wait if there are none."""
        found = await self._read_elements(
            request.client,
            _distinct(request.cursors),
            limit=request.limit or _DEFAULT_LIMIT,
            wait_s=request.max_wait_ms / 1000,
        )
        elements = found.elements
        if elements and not request.bodies:
            epochs = await self._epochs.get(request.client)
            elements = [replace(each, document=with_fields(each.document, epochs)) for each in elements]
        return pb.ReadElementsResponse(
            elements=[
                pb.QueueElement(
                    position=_cursor_of(element.key, element.idx),
                    document=element.document,
                    traceparent=element.traceparent,
                )
                for element in elements
            ],
            next=[_cursor_of(key, idx) for key, idx in found.next.items()],
        )

    async def AppendFailed(self, request: pb.AppendFailedRequest, context: Context) -> pb.AppendFailedResponse:
        """Append elements to the queue `failed`, each once."""
        failures = [
            Failure(_key_of(element.position), element.position.idx, element.pk, element.reason)
            for element in request.elements
        ]
        await append_failed(self._database, request.client, failures)
        return pb.AppendFailedResponse()

    async def ReportProgress(self, request: pb.ReportProgressRequest, context: Context) -> pb.ReportProgressResponse:
        """Store the progress of a group."""
        await report_progress(self._database, request.group, request.client, _distinct(request.cursors))
        return pb.ReportProgressResponse()

    async def GetQueueEnds(self, request: pb.GetQueueEndsRequest, context: Context) -> pb.GetQueueEndsResponse:
        """Return the ends of the queues and the progress of a group."""
        async with self._database.connection() as connection:
            found = await queues.list_ends(connection, request.client, request.group)
        return pb.GetQueueEndsResponse(
            ends=[
                pb.QueueEnds(
                    queue=key.queue,  # type: ignore[arg-type]
                    shard=key.shard,
                    last_idx=ends.last_idx,
                    trimmed_idx=ends.trimmed_idx,
                    delivered_idx=delivered_idx,
                )
                for key, (ends, delivered_idx) in found.items()
            ]
        )

    async def Refill(self, request: pb.RefillRequest, context: Context) -> pb.RefillResponse:
        """Append the next documents of a shard to the queue `emergency`."""
        step = await refill_shard(
            self._database,
            self._signal,
            request.client,
            request.shard,
            after=RegistryPosition(request.after.hash, request.after.pk) if request.HasField("after") else None,
            last_idx=request.last_idx,
            limit=request.limit or _DEFAULT_REFILL,
        )
        if step is None:
            return pb.RefillResponse(last_idx=request.last_idx)
        position = pb.RegistryPosition(hash=step.next.pk_hash, pk=step.next.pk)
        return pb.RefillResponse(elements=step.elements, next=position, last_idx=step.last_idx)

    async def ScanDocuments(self, request: pb.ScanDocumentsRequest, context: Context) -> pb.ScanDocumentsResponse:
        """Return the next live documents of a shard."""
        page = await self._scan_documents(
            request.client,
            request.shard,
            request.epoch,
            RegistryPosition(request.after.hash, request.after.pk) if request.HasField("after") else None,
            limit_bytes=request.limit_bytes or _DEFAULT_PAGE_BYTES,
        )
        documents = page.documents
        if documents and not request.bodies:
            epochs = await self._epochs.get(request.client)
            documents = [serialized_with_fields(content, epochs) for content in documents]
        return pb.ScanDocumentsResponse(
            documents=documents,
            next=pb.RegistryPosition(hash=page.next.pk_hash, pk=page.next.pk) if page.next else None,
            unreadable=page.unreadable,
        )

    async def GetDigest(self, request: pb.GetDigestRequest, context: Context) -> pb.GetDigestResponse:
        """Return the digests of some shards."""
        digests = await digest_shards(self._database, self._epochs, request.client, request.shards)
        return pb.GetDigestResponse(digests=map(_digest_message, digests))


def _digest_message(digest: ShardDigest) -> pb.ShardDigest:
    (main, main_delivered), (emergency, emergency_delivered) = digest.main, digest.emergency
    return pb.ShardDigest(
        shard=digest.shard,
        documents=digest.sums.documents,
        sum_a=digest.sums.sum_a,
        sum_b=digest.sums.sum_b,
        main_idx=main.last_idx,
        emergency_idx=emergency.last_idx,
        main_delivered_idx=main_delivered,
        emergency_delivered_idx=emergency_delivered,
        failed=[pb.FailedDocument(pk=pk, version=version) for pk, version in digest.failed],
    )


def _distinct(cursors: Iterable[pb.QueueCursor]) -> dict[ShardKey, int]:
    found: dict[ShardKey, int] = {}
    for index, cursor in enumerate(cursors):
        key = _key_of(cursor)
        if key in found:
            name = pb.IndexQueue.Name(cursor.queue)
            text = f"{name} of shard {cursor.shard} is given twice; give one cursor for each"
            raise InvalidArgument(
                "CURSOR_TWICE", f"cursors[{index}]: {text}.", violations=[FieldViolation(f"cursors[{index}]", text)]
            )
        found[key] = cursor.idx
    return found


def _key_of(cursor: pb.QueueCursor) -> ShardKey:
    return ShardKey(int(cursor.queue), cursor.shard)


def _cursor_of(key: ShardKey, idx: int) -> pb.QueueCursor:
    return pb.QueueCursor(queue=key.queue, shard=key.shard, idx=idx)  # type: ignore[arg-type]
