"""ReceiverService: receives the documents of clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

from google.rpc.error_details_pb2 import BadRequest

from classifeed.documents.v1 import receiver_service_pb2 as pb
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceServicer
from classifeed_common.db import Database
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import read_page_token, write_page_token
from classifeed_common.telemetry.tracing import queue_spans, traceparent_of
from classifeed_receiver.app.pushing.check_positions import check_positions, list_positions
from classifeed_receiver.app.pushing.push_documents import PushDocuments
from classifeed_receiver.domain.documents import (
    Acknowledged,
    EpochTooOld,
    Invalid,
    Outcome,
    Retry,
    ShardPosition,
    Stale,
    newest_positions,
)
from classifeed_receiver.domain.positions import RegistryPosition
from classifeed_receiver.rpc.own_clients import require_own
from classifeed_receiver.store import scanning

# Batches of one stream that are written concurrently: enough to fill the next transaction while one commits.
_STREAM_WINDOW: Final = 4
_PAGE_DOCUMENTS: Final = 1000

_ACK: Final = pb.PushResult(outcome=pb.PUSH_OUTCOME_ACK)


class ReceiverService(ReceiverServiceServicer):
    """Pushes of all clients, checks of positions, and lists of documents."""

    def __init__(self, database: Database, push_documents: PushDocuments) -> None:
        self._database = database
        self._push_documents = push_documents

    async def Push(self, request: pb.PushRequest, context: Context) -> pb.PushResponse:
        """Push one document."""
        require_own(request.client)
        outcomes = await self._push_documents(request.client, [request.document])
        positions = [_message_of(position) for position in newest_positions(outcomes)]
        return pb.PushResponse(result=_result_of(outcomes[0]), position=positions[0] if positions else None)

    async def PushBatch(self, request: pb.PushBatchRequest, context: Context) -> pb.PushBatchResponse:
        """Push up to 500 documents."""
        return await self._push(request)

    async def PushStream(
        self, request_iterator: AsyncIterator[pb.PushBatchRequest], context: Context
    ) -> AsyncIterator[pb.PushBatchResponse]:
        """Push batches and respond to each, in order.

        The stream is read only while few batches are being written; the next batch is read after the oldest has its
        response. So HTTP/2's flow control slows a sender that is faster than the database, or does not read responses.
        """
        under_way: asyncio.Queue[asyncio.Task[pb.PushBatchResponse] | None] = asyncio.Queue(_STREAM_WINDOW - 1)
        tasks: set[asyncio.Task[Any]] = set()

        async def take() -> None:
            try:
                async for request in request_iterator:
                    task = asyncio.create_task(self._push(request))
                    tasks.add(task)
                    await under_way.put(task)
            finally:
                await under_way.put(None)

        taking = asyncio.create_task(take())
        try:
            while (task := await under_way.get()) is not None:
                yield await task
                tasks.discard(task)
            await taking  # raises the error of the request stream, after the responses to earlier batches
        finally:
            left = [taking, *tasks]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def CheckPositions(self, request: pb.CheckPositionsRequest, context: Context) -> pb.CheckPositionsResponse:
        """Check the positions acknowledged to a client, and return the ends of its queues."""
        require_own(request.client)
        async with self._database.connection() as connection:
            await check_positions(connection, request.client, _positions_of(request.positions))
            ends = await list_positions(connection, request.client)
        return pb.CheckPositionsResponse(ends=map(_message_of, ends))

    async def ListDocuments(self, request: pb.ListDocumentsRequest, context: Context) -> pb.ListDocumentsResponse:
        """List keys and versions of a client's documents."""
        require_own(request.client)
        limit = request.page_size or _PAGE_DOCUMENTS
        after = RegistryPosition.after(read_page_token(request.page_token))
        async with self._database.connection() as connection:
            found = await scanning.list_documents(connection, request.client, after, limit)
        return pb.ListDocumentsResponse(
            documents=[
                pb.StoredDocument(
                    pk=each.pk,
                    epoch=each.epoch,
                    version=each.version,
                    timestamp=each.modify_timestamp,
                    removed=each.is_removed,
                )
                for each in found
            ],
            next_page_token=write_page_token(found[-1].pk) if len(found) == limit else "",
        )

    async def _push(self, request: pb.PushBatchRequest) -> pb.PushBatchResponse:
        require_own(request.client)
        known = _positions_of(request.known_positions)
        pushed_in = {traced.document: traced.traceparent for traced in request.traces}
        with queue_spans("send", request.client, pushed_in) as contexts:
            traces = {index: traceparent_of(context) for index, context in contexts.items()}
            outcomes = await self._push_documents(request.client, request.documents, known, traces)
        return pb.PushBatchResponse(
            results=map(_result_of, outcomes), positions=map(_message_of, newest_positions(outcomes))
        )


def _positions_of(positions: Iterable[pb.ShardPosition]) -> list[ShardPosition]:
    return [ShardPosition(position.shard, position.idx) for position in positions]


def _message_of(position: ShardPosition) -> pb.ShardPosition:
    return pb.ShardPosition(shard=position.shard, idx=position.idx)


def _result_of(outcome: Outcome) -> pb.PushResult:
    match outcome:
        case Acknowledged():
            return _ACK
        case Stale(version, epoch):
            return pb.PushResult(outcome=pb.PUSH_OUTCOME_STALE, stored_version=version, stored_epoch=epoch)
        case EpochTooOld(current_epoch):
            return pb.PushResult(outcome=pb.PUSH_OUTCOME_EPOCH_TOO_OLD, current_epoch=current_epoch)
        case Retry():
            return pb.PushResult(outcome=pb.PUSH_OUTCOME_RETRY)
        case Invalid(violations):
            found = [BadRequest.FieldViolation(field=v.field, description=v.description) for v in violations]
            return pb.PushResult(outcome=pb.PUSH_OUTCOME_INVALID, violations=BadRequest(field_violations=found))
