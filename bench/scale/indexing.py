"""The roles from the registry to the index: receivers, indexers, and sinks by groups of shards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.scale.backlog import Backlog
from bench.scale.installation import Installation
from bench.scale.measuring import Span, measured, until
from bench.scale.roles import members, send
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import PUSH_OUTCOME_ACK, PushBatchRequest
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceStub
from classifeed.documents.v1.schema_service_pb2 import PutSchemaRequest
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_common.kafka import ensure_topics
from classifeed_common.rpc.client import open_channel
from classifeed_domain.document_shards import SHARDS
from classifeed_domain.topics import declared, index_documents
from classifeed_offers.domain.documents import schema
from classifeed_searcher.store.state_file import UnusableIndex, read_state

_PUSHERS: Final = 8
_PUSHED_AT_ONCE: Final = 500
# As a push does for existing documents: append the next element of each document to its queue.
_APPEND: Final = b"""
WITH chosen AS (
    SELECT hash, pk, epoch, version, modify_timestamp, (hash >> 58 & 63)::smallint AS shard,
           row_number() OVER (PARTITION BY hash >> 58 & 63 ORDER BY hash DESC, pk DESC) AS place
    FROM documents
    WHERE client = 'offers'
), counted AS (
    UPDATE shards
    SET last_idx = greatest(last_idx, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                   + (SELECT count(*) FROM chosen)
    WHERE client = 'offers' AND queue = 1
    RETURNING shard, last_idx
)
INSERT INTO elements (client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp)
SELECT 'offers', 1, shard, last_idx + 1 - place, hash, pk, epoch, version, modify_timestamp
FROM chosen JOIN counted USING (shard)
"""


def receive(running: Installation, backlog: Backlog, count: int, _revision: int) -> Span:
    """Measure receivers that get a newer document of each offer from eight clients, 500 at a time."""
    documents = backlog.documents(time.time_ns() // 1000)
    parts = [documents[at : at + _PUSHED_AT_ONCE] for at in range(0, len(documents), _PUSHED_AT_ONCE)]
    with running.workers("receiver", count) as workers:
        asyncio.run(_put_schema(running, workers[0].grpc))
        with measured(running, backlog.sizes.offers, workers) as span:
            asyncio.run(_push(running, [worker.grpc for worker in workers], parts))
    return span


def deliver(running: Installation, backlog: Backlog, count: int, _revision: int) -> Span:
    """Measure indexers that deliver every document of the registry; one receiver reads for them."""
    connection = running.connection("receiver")
    with ExitStack() as stack:
        [receiver] = stack.enter_context(running.workers("receiver", 1))
        workers = stack.enter_context(
            running.workers("indexer", count, "work", RECEIVER_ADDRESS=receiver.grpc, LEASE_TTL_S=5)
        )
        until(lambda: _is_delivered(running) and _is_shared(running, count), "indexers share the shards evenly")
        with connection.transaction():
            connection.execute(_APPEND)
            span = stack.enter_context(measured(running, backlog.sizes.offers, workers, {"receiver": [receiver]}))
        until(lambda: _is_delivered(running), "everything is delivered")
    return span


def index(running: Installation, backlog: Backlog, count: int, revision: int) -> Span:
    """Measure sinks that put all documents into indexes; each sink has an index for its share of the shards."""
    client = f"scale{revision}"
    topic = index_documents(client)
    folder = running.folder / client
    asyncio.run(ensure_topics(running.kafka, [declared(topic)]))
    messages = list(backlog.index_messages(topic, backlog.documents(1)))
    folders = [folder / str(number) for number in range(count)]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(running.module("bench.scale.sink", running.kafka, topic, client, str(each)))
            for each in folders
        ]
        until(lambda: len(shares := members(running, client)) == count and max(shares) == SHARDS // count,
              "sinks share the shards")  # fmt: skip
        with measured(running, backlog.sizes.offers, workers) as span:
            send(running, messages)
            until(lambda: sum(map(_taken_in, folders)) == len(messages), "everything is in an index")
    return span


def index_bytes(running: Installation) -> int:
    """Return the bytes of the indexes of the last measurement."""
    newest = max(running.folder.glob("scale*"), key=lambda folder: folder.stat().st_mtime)
    return sum(file.stat().st_size for file in newest.rglob("index/*"))


async def _put_schema(running: Installation, address: str) -> None:
    channel = open_channel(address, caller="offers", audience="receiver", keys=running.keys)
    await SchemaServiceStub(channel).PutSchema(PutSchemaRequest(schema=schema()))
    await channel.close()


async def _push(running: Installation, addresses: Sequence[str], parts: Sequence[list[RawDocument]]) -> None:
    left = iter(parts)
    client = schema().client

    async def push(address: str) -> None:
        channel = open_channel(address, caller="offers", audience="receiver", keys=running.keys, default_timeout_s=120)
        stub = ReceiverServiceStub(channel)
        for part in left:
            response = await stub.PushBatch(PushBatchRequest(client=client, documents=part))
            if any(result.outcome != PUSH_OUTCOME_ACK for result in response.results):
                raise RuntimeError(f"not every document was acknowledged: {response.results[0]}")
        await channel.close()

    await asyncio.gather(*(push(addresses[number % len(addresses)]) for number in range(_PUSHERS)))


def _is_delivered(running: Installation) -> bool:
    ends = running.connection("receiver").execute(
        b"SELECT shard, last_idx FROM shards WHERE client = 'offers' AND queue = 1"
    )
    reached = running.connection("indexer").execute(
        b"SELECT shard, idx FROM offsets WHERE client = 'offers' AND queue = 1"
    )
    return sorted(ends.fetchall()) == sorted(reached.fetchall())


def _is_shared(running: Installation, count: int) -> bool:
    held = running.connection("indexer").execute(
        b"SELECT count(*) FROM leases WHERE expires_at > clock_timestamp() AND name LIKE '%/offers/%' GROUP BY holder"
    )
    return [int(str(shards)) for (shards,) in held] == [SHARDS // count] * count


def _taken_in(folder: Path) -> int:
    try:
        return sum(position.next for position in read_state(folder / "state.json").positions.values())
    except UnusableIndex:
        return 0
