"""Writing documents into the registry: by RPCs of the receiver, and by a bare program that writes the same rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple

import grpc.aio
import psycopg

from bench.generated_documents import generate_documents, pieces
from bench.indexing.installation import Installation, spent
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import PUSH_OUTCOME_ACK, PushBatchRequest, PushBatchResponse
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceStub
from classifeed.documents.v1.schema_service_pb2 import PutSchemaRequest
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_offers.domain.documents import CLIENT, schema
from classifeed_receiver.store.compression import compress
from classifeed_receiver.store.registry import SQL

_BATCH: Final = 500
_AT_A_TIME: Final = 4
# The receiver runs as many transactions at a time.
_WRITERS: Final = 2
_COMPRESS_FROM: Final = 2048
_BARE: Final = "bare"
_COPIES: Final = (
    "COPY documents (client, hash, pk, epoch, version, modify_timestamp, status, compression, stored_at, document)"
    " FROM STDIN",
    "COPY elements (client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp) FROM STDIN",
)


class Written(NamedTuple):
    """Figures of one way to write.

    Attributes:
        rate: documents a second.
        cpu_us: CPU of each process, in µs a document; `sender` is the bench itself.
    """

    rate: float
    cpu_us: dict[str, float]

    @property
    def total_us(self) -> float:
        """CPU of all processes, in µs a document."""
        return sum(self.cpu_us.values())


async def put_schema(installation: Installation) -> None:
    """Send the schema of the documents to the receiver."""
    async with installation.channel("receiver", "offers") as channel:
        await SchemaServiceStub(channel).PutSchema(PutSchemaRequest(schema=schema()))


class Writing:
    """Writes new documents, in one way after the other."""

    def __init__(self, installation: Installation, documents: int) -> None:
        self._installation = installation
        self._documents = documents
        self._next = 0
        self.pushed = 0

    async def measure(self) -> dict[str, Written]:
        """Measure each way once."""
        async with self._installation.channel("receiver", "offers") as channel:
            pushes = {
                "PushBatch": partial(_push_batches, channel),
                "PushStream": partial(_push_stream, channel),
            }
            found = {name: await self._measure(name, push) for name, push in pushes.items()}
        dsn = self._installation.dsn("receiver")
        for name, write in (("same statement", _write_by_statement), ("COPY", _write_by_copy)):
            found[name] = await self._measure(name, partial(_in_thread, write, dsn))
        return found

    async def _measure(self, name: str, write: Callable[[list[Any]], Any]) -> Written:
        documents = generate_documents(self._documents, first=self._next)
        self._next += self._documents
        if name.startswith("Push"):
            self.pushed += self._documents
            batches: list[Any] = [
                PushBatchRequest(client=CLIENT, documents=piece) for piece in pieces(documents, _BATCH)
            ]
        else:
            batches = [[_row_of(document) for document in piece] for piece in pieces(documents, _BATCH)]
        before, own, started = self._installation.cpu(), time.process_time(), time.perf_counter()
        await write(batches)
        took = time.perf_counter() - started
        used = spent(before, self._installation.cpu(), self._documents)
        sender = (time.process_time() - own) / self._documents * 1e6
        return Written(
            self._documents / took, {"sender": sender, "receiver": used["receiver"], "postgres": used["postgres"]}
        )


async def _in_thread(
    write: Callable[[str, Sequence[list[_Row]]], None], dsn: str, batches: Sequence[list[_Row]]
) -> None:
    await asyncio.to_thread(write, dsn, batches)


async def _push_batches(channel: grpc.aio.Channel, requests: Sequence[PushBatchRequest]) -> None:
    stub = ReceiverServiceStub(channel)
    left = iter(requests)

    async def push() -> None:
        for request in left:
            _check(await stub.PushBatch(request))

    await asyncio.gather(*(push() for _ in range(_AT_A_TIME)))


async def _push_stream(channel: grpc.aio.Channel, requests: Sequence[PushBatchRequest]) -> None:
    async def send() -> AsyncIterator[PushBatchRequest]:
        for request in requests:
            yield request

    async for response in ReceiverServiceStub(channel).PushStream(send()):
        _check(response)


def _check(response: PushBatchResponse) -> None:
    if any(result.outcome != PUSH_OUTCOME_ACK for result in response.results):
        raise RuntimeError("the receiver did not accept a document")


class _Row(NamedTuple):
    """A document as the registry stores it."""

    hash: int
    pk: str
    epoch: int
    version: int
    modified: Any
    compression: int
    document: bytes


def _row_of(document: RawDocument) -> _Row:
    compression, kept = compress(document.SerializeToString(deterministic=True), from_bytes=_COMPRESS_FROM)
    modified = document.timestamp.ToDatetime()
    return _Row(hash_of(document.pk), document.pk, document.epoch, document.version, modified, compression.value, kept)


def _write_by_statement(dsn: str, batches: Sequence[list[_Row]]) -> None:
    """Write with the receiver's statement, in as many transactions at a time."""
    left = iter(batches)

    def write() -> None:
        with _connect(dsn) as connection:
            for rows in left:
                ordered = sorted(rows)
                values = {
                    "client": _BARE,
                    "count": len(ordered),
                    "abandoned": [],
                    "hashes": [row.hash for row in ordered],
                    "pks": [row.pk for row in ordered],
                    "epochs": [row.epoch for row in ordered],
                    "versions": [row.version for row in ordered],
                    "modify_timestamps": [row.modified for row in ordered],
                    "statuses": [1] * len(ordered),
                    "compressions": [row.compression for row in ordered],
                    "expires_at": [None] * len(ordered),
                    "documents": [row.document for row in ordered],
                }
                connection.execute(SQL["write_documents"], values).fetchall()

    with ThreadPoolExecutor(_WRITERS) as pool:
        for written in [pool.submit(write) for _ in range(_WRITERS)]:
            written.result()


def _write_by_copy(dsn: str, batches: Sequence[list[_Row]]) -> None:
    """Write the same rows with two COPYs a batch; there must be no other writer, and no key may exist."""
    idx = time.time_ns()
    with _connect(dsn) as connection:
        for rows in batches:
            with connection.transaction(), connection.cursor() as cursor:
                with cursor.copy(_COPIES[0]) as copy:
                    for row in rows:
                        kept = (row.modified, 1, row.compression, row.modified, row.document)
                        copy.write_row((_BARE, row.hash, row.pk, row.epoch, row.version, *kept))
                with cursor.copy(_COPIES[1]) as copy:
                    for row in rows:
                        idx += 1
                        key = (_BARE, 3, shard_of(row.hash), idx)
                        copy.write_row((*key, row.hash, row.pk, row.epoch, row.version, row.modified))


def _connect(dsn: str) -> psycopg.Connection[Any]:
    return psycopg.connect(dsn, options="-c search_path=receiver -c timezone=UTC", autocommit=True)
