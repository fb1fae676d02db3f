"""The receiver of documents: schema and pushes of the client `offers`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import grpc.aio

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import PushBatchRequest, PushResult
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceStub
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2 import PutSchemaRequest
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_offers.domain.documents import CLIENT

# Below what a server takes in one message, with room for what is not documents.
_REQUEST_LIMIT_BYTES: Final = 8 * 1024 * 1024
_REQUEST_LIMIT_DOCUMENTS: Final = 500


class Receiver:
    """Calls over one channel; every method raises grpc.aio.AioRpcError when the receiver does not answer."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._documents = ReceiverServiceStub(channel)
        self._schemas = SchemaServiceStub(channel)

    async def put_schema(self, schema: Schema) -> None:
        """Put the schema of an epoch. Idempotent."""
        await self._schemas.PutSchema(PutSchemaRequest(schema=schema))

    async def push(self, documents: Sequence[RawDocument]) -> list[PushResult]:
        """Push documents and return what became of each, in their order. Idempotent."""
        results: list[PushResult] = []
        for part in cut(documents):
            answer = await self._documents.PushBatch(PushBatchRequest(client=CLIENT, documents=part))
            results.extend(answer.results)
        return results


def cut(documents: Sequence[RawDocument], limit_bytes: int = _REQUEST_LIMIT_BYTES) -> Iterator[Sequence[RawDocument]]:
    """Yield the documents in parts that fit into a request each; a document above the limit goes alone."""
    part: list[RawDocument] = []
    size = 0
    for document in documents:
        more = document.ByteSize()
        if part and (size + more > limit_bytes or len(part) == _REQUEST_LIMIT_DOCUMENTS):
            yield part
            part, size = [], 0
        part.append(document)
        size += more
    if part:
        yield part
