"""Digest shards: count and sums of their live documents and the ends of their queues, from one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_EMERGENCY, INDEX_QUEUE_MAIN
from classifeed_common.db import Database
from classifeed_receiver.domain.cursors import NO_ELEMENTS, ShardEnds, ShardKey
from classifeed_receiver.store import queues, scanning
from classifeed_receiver.store.known_epochs import KnownEpochs
from classifeed_receiver.store.scanning import DocumentSums

_MAIN: Final = int(INDEX_QUEUE_MAIN)
_EMERGENCY: Final = int(INDEX_QUEUE_EMERGENCY)
_NOTHING: Final = (NO_ELEMENTS, 0)


@dataclass(frozen=True, slots=True)
class ShardDigest:
    """Digest of a shard.

    Attributes:
        shard: number of the shard.
        sums: count and sums of its live documents.
        main: end of the queue `main`, and the highest offset that a group has reported for it.
        emergency: the same for the queue `emergency`.
        failed: key and version of live documents whose stored version is in the queue `failed`.
    """

    shard: int
    sums: DocumentSums
    main: tuple[ShardEnds, int]
    emergency: tuple[ShardEnds, int]
    failed: Sequence[tuple[str, int]]


async def digest_shards(
    database: Database, epochs: KnownEpochs, client: str, shards: Sequence[int]
) -> list[ShardDigest]:
    """Return the digests of some shards, in their order.

    Raises:
        FailedPrecondition: the client has no schema.
    """
    epoch = (await epochs.get(client)).active
    async with database.transaction() as tx:
        await scanning.freeze(tx)
        ends = await queues.list_ends(tx, client, "")
        sums = await scanning.sum_digests(tx, client, epoch, shards)
        failed = await scanning.list_failed(tx, client, epoch, shards)
    return [
        ShardDigest(
            shard,
            sums.get(shard, DocumentSums()),
            ends.get(ShardKey(_MAIN, shard), _NOTHING),
            ends.get(ShardKey(_EMERGENCY, shard), _NOTHING),
            failed.get(shard, ()),
        )
        for shard in shards
    ]
