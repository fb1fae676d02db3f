"""IndexerService: state and refills of the indexer, for operators."""

from __future__ import annotations

from collections.abc import Mapping

from classifeed.documents.v1.index_queue_service_pb2 import QueueCursor
from classifeed.documents.v1.indexer_service_pb2 import (
    GetIndexerStatusRequest,
    IndexerStatus,
    RefillStatus,
    RequestRefillRequest,
    RequestRefillResponse,
    ShardStatus,
)
from classifeed.documents.v1.indexer_service_pb2_grpc import IndexerServiceServicer
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.context import Context
from classifeed_domain.document_shards import SHARDS
from classifeed_indexer.store.offsets import Offsets
from classifeed_indexer.store.refills import Refill


class IndexerService(IndexerServiceServicer):
    """Reports the state of a client's shards and takes requests for refills.

    It reads the tables, so every process returns the same state. Add ReplayFailed here.
    """

    def __init__(self, offsets: Mapping[str, Offsets]) -> None:
        self._offsets = offsets

    async def GetStatus(self, request: GetIndexerStatusRequest, context: Context) -> IndexerStatus:
        """Return the delivered offsets, the holder and the refill of each shard."""
        offsets = self._offsets_of(request.client)
        holders = await offsets.list_holders(range(SHARDS))
        delivered = sorted((await offsets.list_offsets()).items())
        refills = await offsets.refills.list_refills()
        shards = []
        for shard in range(SHARDS):
            holder = holders.get(shard)
            shards.append(
                ShardStatus(
                    shard=shard,
                    holder=holder.holder if holder else "",
                    fence=holder.fence if holder else 0,
                    delivered=[
                        QueueCursor(queue=key.queue, shard=shard, idx=idx)  # type: ignore[arg-type]
                        for key, idx in delivered
                        if key.shard == shard
                    ],
                    refill=_status_of(refills[shard]) if shard in refills else None,
                )
            )
        return IndexerStatus(client=request.client, shards=shards)

    async def RequestRefill(self, request: RequestRefillRequest, context: Context) -> RequestRefillResponse:
        """Request a refill of some shards, or of all; their holders find the request within a second."""
        offsets = self._offsets_of(request.client)
        shards = sorted(set(request.shards)) or list(range(SHARDS))
        await offsets.refills.request(shards, "requested by an operator")
        return RequestRefillResponse(shards=len(shards))

    def _offsets_of(self, client: str) -> Offsets:
        offsets = self._offsets.get(client)
        if offsets is None:
            text = f"{client} is not delivered here; known are {', '.join(self._offsets)}"
            raise InvalidArgument(
                "CLIENT_NOT_DELIVERED",
                f"client: {text}. Name one of them, or add it to CLASSIFEED_INDEXER_CLIENTS.",
                violations=[FieldViolation("client", text)],
            )
        return offsets


def _status_of(refill: Refill) -> RefillStatus:
    return RefillStatus(reason=refill.reason, documents=refill.documents, request_time=refill.requested_at)
