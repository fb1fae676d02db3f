"""IndexerService: what the indexer does, for operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc.aio

from classifeed.documents.v1.index_queue_service_pb2 import QueueCursor
from classifeed.documents.v1.indexer_service_pb2 import GetIndexerStatusRequest, IndexerStatus, ShardStatus
from classifeed.documents.v1.indexer_service_pb2_grpc import IndexerServiceServicer
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_indexer.domain.shards import SHARDS
from classifeed_indexer.store.offsets import Offsets

Context = grpc.aio.ServicerContext[Any, Any]


class IndexerRpc(IndexerServiceServicer):
    """Answers IndexerService from the tables, so every process gives the same answer.

    ReplayFailed and Repour have their place here.
    """

    def __init__(self, offsets: Mapping[str, Offsets]) -> None:
        self._offsets = offsets

    async def GetStatus(self, request: GetIndexerStatusRequest, context: Context) -> IndexerStatus:
        """Says how far each shard has been delivered, and who holds it."""
        offsets = self._offsets.get(request.client)
        if offsets is None:
            text = f"{request.client} is not delivered here; known are {', '.join(self._offsets)}"
            raise InvalidArgument(
                "CLIENT_NOT_DELIVERED",
                f"client: {text}. Ask for one of them, or add it to CLASSIFEED_INDEXER_CLIENTS.",
                violations=[FieldViolation("client", text)],
            )
        holders = await offsets.select_holders(range(SHARDS))
        delivered = sorted((await offsets.select()).items())
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
                )
            )
        return IndexerStatus(client=request.client, shards=shards)
