"""Client of the receiver: schemas, ends of queues, scans, digests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import grpc.aio
from google.protobuf.message import DecodeError

from classifeed.documents.v1 import index_queue_service_pb2, schema_pb2, schema_service_pb2
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_queue_service_pb2_grpc import IndexQueueServiceStub
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_common.errors import NotFound
from classifeed_common.rpc.status import response_of

_CALL_S: Final = 10.0
# Digests of all shards read every document of the client, about 5 µs for each.
_DIGEST_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """A page of a shard's documents.

    Attributes:
        documents: serialized RawDocuments in the order of their keys.
        next: position of the next page; None: the shard ends.
        unreadable: number of damaged rows that were left out.
    """

    documents: Sequence[bytes]
    next: index_queue_service_pb2.RegistryPosition | None
    unreadable: int

    def decode(self) -> tuple[list[RawDocument], int]:
        """Return the documents that can be decoded, and the number of the others."""
        decoded = []
        for content in self.documents:
            with suppress(DecodeError):
                decoded.append(RawDocument.FromString(content))
        return decoded, len(self.documents) - len(decoded)


class ReceiverClient:
    """Calls about one client's documents. Every method raises the receiver's errors as DomainError."""

    def __init__(self, channel: grpc.aio.Channel, client: str) -> None:
        self.client = client
        self._queue = IndexQueueServiceStub(channel)
        self._schemas = SchemaServiceStub(channel)

    async def active_schema(self) -> schema_pb2.Schema | None:
        """Return the schema of the active epoch; None if the client has no schema yet."""
        request = schema_service_pb2.GetSchemaRequest(client=self.client)
        try:
            return await response_of(self._schemas.GetSchema(request, timeout=_CALL_S))
        except NotFound:
            return None

    async def queue_ends(self) -> dict[int, dict[int, int]]:
        """Return the index of the last element by shard and queue; empty queues are left out."""
        request = index_queue_service_pb2.GetQueueEndsRequest(client=self.client)
        response = await response_of(self._queue.GetQueueEnds(request, timeout=_CALL_S))
        ends: dict[int, dict[int, int]] = {}
        for end in response.ends:
            ends.setdefault(end.shard, {})[int(end.queue)] = end.last_idx
        return ends

    async def scan_page(
        self, shard: int, epoch: int, after: index_queue_service_pb2.RegistryPosition | None
    ) -> ScannedPage:
        """Return the page of a shard's documents after a position; None: the first one.

        Raises:
            FailedPrecondition: EPOCH_NOT_ACTIVE.
        """
        request = index_queue_service_pb2.ScanDocumentsRequest(
            client=self.client, shard=shard, epoch=epoch, after=after, bodies=True
        )
        response = await response_of(self._queue.ScanDocuments(request, timeout=_CALL_S))
        return ScannedPage(
            response.documents, response.next if response.HasField("next") else None, response.unreadable
        )

    async def digests(self, shards: Sequence[int]) -> dict[int, index_queue_service_pb2.ShardDigest]:
        """Return the digests of some shards, at least one, from one snapshot."""
        request = index_queue_service_pb2.GetDigestRequest(client=self.client, shards=shards)
        response = await response_of(self._queue.GetDigest(request, timeout=_DIGEST_S))
        return {digest.shard: digest for digest in response.digests}
