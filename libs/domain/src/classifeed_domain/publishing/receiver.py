"""Client of the receiver of documents: schemas and pushes of one client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import grpc.aio
from msgspec import DecodeError

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import (
    PUSH_OUTCOME_INVALID,
    CheckPositionsRequest,
    DocumentTrace,
    ListDocumentsRequest,
    PushBatchRequest,
    PushBatchResponse,
    PushResult,
    ShardPosition,
    StoredDocument,
)
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceStub
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2 import PutSchemaRequest
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_common.rpc.status import response_of
from classifeed_common.splitting import split_by_size
from classifeed_domain.document_bodies import BodyCodec

# Below the server's limit for a message, with room for the other fields.
_REQUEST_LIMIT_BYTES: Final = 8 * 1024 * 1024
_REQUEST_LIMIT_DOCUMENTS: Final = 500
_NO_TRACES: Final[Mapping[int, str]] = {}


@dataclass(slots=True)
class PushedDocuments:
    """The results of the documents, in order, and the newest element of each shard that was written."""

    results: list[PushResult] = field(default_factory=list)
    positions: dict[int, int] = field(default_factory=dict)


class ReceiverClient:
    """Calls the receiver for one client. Every method raises the receiver's errors as DomainError.

    Args:
        channel: Channel to the receiver.
        schema: Schema of the documents.
    """

    def __init__(self, channel: grpc.aio.Channel, schema: Schema) -> None:
        self._client = schema.client
        self._codec = BodyCodec(schema)
        self._documents = ReceiverServiceStub(channel)
        self._schemas = SchemaServiceStub(channel)

    async def put_schema(self, schema: Schema) -> None:
        """Put the schema of an epoch. Idempotent."""
        await response_of(self._schemas.PutSchema(PutSchemaRequest(schema=schema)))

    async def push(
        self, documents: Sequence[RawDocument], known: Mapping[int, int], traces: Mapping[int, str] = _NO_TRACES
    ) -> PushedDocuments:
        """Push documents and return the result of each. Idempotent.

        Args:
            documents: Any number of documents.
            known: Newest element of each shard that the receiver acknowledged before.
            traces: `traceparent` of traced documents, by position in `documents`; the index continues the trace.

        Raises:
            FailedPrecondition: REGISTRY_WENT_BACK, the receiver does not have the elements of `known`.
        """
        pushed = PushedDocuments()
        at = 0
        for part in cut(documents):
            # Each part is checked against the positions of the parts before it, too.
            positions = _messages_of({**known, **pushed.positions})
            request = PushBatchRequest(
                client=self._client,
                documents=part,
                known_positions=positions,
                traces=[
                    DocumentTrace(document=index - at, traceparent=traceparent)
                    for index, traceparent in traces.items()
                    if at <= index < at + len(part)
                ],
            )
            response = await self._push(request)
            at += len(part)
            pushed.results.extend(response.results)
            pushed.positions.update((position.shard, position.idx) for position in response.positions)
        return pushed

    async def _push(self, request: PushBatchRequest) -> PushBatchResponse:
        """Push a batch; push documents with refused bodies again as fields, for a receiver that cannot read bodies."""
        response = await response_of(self._documents.PushBatch(request))
        refused = [
            number
            for number, result in enumerate(response.results)
            if result.outcome == PUSH_OUTCOME_INVALID and request.documents[number].body
        ]
        if not refused:
            return response
        again = PushBatchRequest(
            client=request.client,
            documents=[self._with_fields(request.documents[number]) for number in refused],
            known_positions=_messages_of(
                {position.shard: position.idx for position in [*request.known_positions, *response.positions]}
            ),
            traces=[
                DocumentTrace(document=refused.index(trace.document), traceparent=trace.traceparent)
                for trace in request.traces
                if trace.document in refused
            ],
        )
        repeated = await response_of(self._documents.PushBatch(again))
        for number, result in zip(refused, repeated.results, strict=True):
            response.results[number].CopyFrom(result)
        response.positions.extend(repeated.positions)
        return response

    def _with_fields(self, document: RawDocument) -> RawDocument:
        made = RawDocument()
        made.CopyFrom(document)
        made.ClearField("body")
        try:
            made.fields.extend(self._codec.fields_of(document.body))
        except (DecodeError, RecursionError):
            return document  # the body is invalid, so it is refused again
        return made

    async def check_positions(self, known: Mapping[int, int]) -> dict[int, int]:
        """Return the end of the receiver's queue of each shard.

        Raises:
            FailedPrecondition: REGISTRY_WENT_BACK, the receiver does not have the elements of `known`.
        """
        request = CheckPositionsRequest(client=self._client, positions=_messages_of(known))
        response = await response_of(self._documents.CheckPositions(request))
        return {end.shard: end.idx for end in response.ends}

    async def list_documents(self, page_token: str, page_size: int) -> tuple[list[StoredDocument], str]:
        """Return a page of the registry's documents of this client, removed ones included, and the next token.

        Args:
            page_token: Token from the previous page; "" for the first page.
            page_size: Maximum number of documents, up to 5,000.
        """
        request = ListDocumentsRequest(client=self._client, page_token=page_token, page_size=page_size)
        response = await response_of(self._documents.ListDocuments(request))
        return list(response.documents), response.next_page_token


def cut(documents: Sequence[RawDocument], limit_bytes: int = _REQUEST_LIMIT_BYTES) -> Iterator[Sequence[RawDocument]]:
    """Split documents into parts that fit into one request each. A document above the limit is a part on its own."""
    return split_by_size(documents, most_items=_REQUEST_LIMIT_DOCUMENTS, most_bytes=limit_bytes)


def _messages_of(positions: Mapping[int, int]) -> list[ShardPosition]:
    return [ShardPosition(shard=shard, idx=idx) for shard, idx in positions.items()]
