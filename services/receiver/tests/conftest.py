from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc.aio
import pytest

from classifeed.documents.v1.document_pb2 import (
    DOCUMENT_ACTION_DELETE,
    DOCUMENT_ACTION_UPSERT,
    RawDocument,
)
from classifeed.documents.v1.index_queue_service_pb2_grpc import (
    IndexQueueServiceStub,
    add_IndexQueueServiceServicer_to_server,
)
from classifeed.documents.v1.receiver_service_pb2_grpc import (
    ReceiverServiceStub,
    add_ReceiverServiceServicer_to_server,
)
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub, add_SchemaServiceServicer_to_server
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.databases import TableBackup
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_receiver.app.pushing.coalesce_writes import WriteCoalescer
from classifeed_receiver.app.pushing.push_documents import PushDocuments
from classifeed_receiver.app.pushing.put_schema import put_schema
from classifeed_receiver.app.reading.read_elements import ReadElements
from classifeed_receiver.domain.schemas import EpochState
from classifeed_receiver.rpc.index_queue_service import IndexQueueService
from classifeed_receiver.rpc.receiver_service import ReceiverService
from classifeed_receiver.rpc.schema_service import SchemaService
from classifeed_receiver.store import schemas
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

SCHEMA_FIELDS: list[dict[str, Any]] = [
    {"name": "title", "type": "FIELD_TYPE_TEXT", "required": True, "indexed": True, "analyzer": "ANALYZER_RU_EN"},
    {"name": "price", "type": "FIELD_TYPE_DOUBLE", "indexed": True, "sortable": True},
    {"name": "stock", "type": "FIELD_TYPE_INT", "indexed": True},
    {"name": "is_new", "type": "FIELD_TYPE_BOOL", "indexed": True},
    {"name": "made", "type": "FIELD_TYPE_TIMESTAMP", "indexed": True},
    {"name": "place", "type": "FIELD_TYPE_GEO_POINT", "indexed": True},
    {"name": "tags", "type": "FIELD_TYPE_STRING", "repeated": True, "indexed": True, "facet": True},
]


def make_schema(epoch: int = 1, *, client: str = "offers", fields: list[dict[str, Any]] | None = None) -> Schema:
    return Schema(
        client=client,
        epoch=epoch,
        fields=SCHEMA_FIELDS if fields is None else fields,
        embeddings=[{"name": "meaning", "dimension": 3}],
    )


def make_upsert(
    pk: str, version: int = 1, *, title: str = "диван", epoch: int = 1, at: datetime = NOW, ttl_s: float | None = None
) -> RawDocument:
    document = RawDocument(pk=pk, version=version, epoch=epoch, action=DOCUMENT_ACTION_UPSERT)
    document.timestamp.FromDatetime(at)
    document.fields.add(name="title").values.add(string_value=title)
    if ttl_s is not None:
        document.ttl.FromTimedelta(timedelta(seconds=ttl_s))
    return document


def make_delete(pk: str, version: int, *, epoch: int = 1, at: datetime = NOW) -> RawDocument:
    document = RawDocument(pk=pk, version=version, epoch=epoch, action=DOCUMENT_ACTION_DELETE)
    document.timestamp.FromDatetime(at)
    return document


@dataclass
class Build:
    """Makes messages for tests."""

    schema: Callable[..., Schema]
    upsert: Callable[..., RawDocument]
    delete: Callable[..., RawDocument]


@pytest.fixture
def build() -> Build:
    return Build(make_schema, make_upsert, make_delete)


class Receiver:
    """A replica of the receiver on a database, without its entry points."""

    def __init__(
        self,
        database: Database,
        *,
        epochs_refresh_s: float = 5,
        queue_poll_s: float = 0.25,
        limit_bytes: int = 512 * 1024,
        transactions: int = 2,
        compress_from_bytes: int = 2048,
        **coalescing: Any,
    ) -> None:
        self.database = database
        self.clock = SystemClock()
        self.signal = CommitSignal()
        self.epochs = KnownEpochs(database, self.clock, refresh_s=epochs_refresh_s)
        self.push_documents = PushDocuments(
            database,
            self.epochs,
            self.signal,
            limit_bytes=limit_bytes,
            transactions=transactions,
            compress_from_bytes=compress_from_bytes,
        )
        if coalescing:
            write = self.push_documents._write
            self.push_documents._coalescer = WriteCoalescer(write, transactions=transactions, **coalescing)
        self.read_elements = ReadElements(database, self.signal, self.clock, poll_s=queue_poll_s)

    async def push(self, *documents: RawDocument, client: str = "offers", known: Any = ()) -> list[Any]:
        return await self.push_documents(client, documents, known)

    async def put(self, schema: Schema) -> Any:
        return await put_schema(self.database, self.epochs, schema)

    async def put_epoch(self, schema: Schema, state: EpochState) -> None:
        """Put an epoch as other releases do: an earlier one (OPEN), or one that can switch epochs (ACTIVE)."""
        async with self.database.transaction() as tx:
            if state is EpochState.ACTIVE:
                await tx.execute("UPDATE schemas SET state = 3 WHERE client = %s AND state = 2", [schema.client])
            await schemas.insert_epoch(tx, schema, state)
        self.epochs.forget(schema.client)

    async def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(sql, parameters)).fetchall()

    def servicers(self) -> list[Servicer]:
        return [
            Servicer.of(add_ReceiverServiceServicer_to_server, ReceiverService(self.database, self.push_documents)),
            Servicer.of(add_SchemaServiceServicer_to_server, SchemaService(self.database, self.epochs)),
            Servicer.of(
                add_IndexQueueServiceServicer_to_server,
                IndexQueueService(self.database, self.read_elements, self.signal, self.epochs),
            ),
        ]


@pytest.fixture
async def receiver_database(migrated_database: Callable[..., Awaitable[Database]]) -> Database:
    return await migrated_database("classifeed_receiver", max_size=8)


@pytest.fixture
def make_receiver(receiver_database: Database) -> Callable[..., Receiver]:
    """Make replicas on one database."""

    def make(**settings: Any) -> Receiver:
        return Receiver(receiver_database, **settings)

    return make


@pytest.fixture
async def receiver(make_receiver: Callable[..., Receiver]) -> AsyncIterator[Receiver]:
    """Return a replica with a schema for the client `offers`."""
    receiver = make_receiver()
    await receiver.put(make_schema())
    yield receiver
    await receiver.push_documents.stop()


@dataclass
class Stubs:
    receiver: ReceiverServiceStub
    schemas: SchemaServiceStub
    queue: IndexQueueServiceStub
    indexer: grpc.aio.Channel


@pytest.fixture
async def stubs(receiver: Receiver, rpc_server: StartServer, rpc_channel: OpenChannel) -> Stubs:
    """Return stubs of the receiver behind a real server, with callers that have permission."""
    target = await rpc_server("receiver", *receiver.servicers())
    offers = rpc_channel(target, caller="offers", audience="receiver")
    indexer = rpc_channel(target, caller="indexer", audience="receiver")
    return Stubs(ReceiverServiceStub(offers), SchemaServiceStub(offers), IndexQueueServiceStub(indexer), indexer)


@pytest.fixture
async def table_backup(receiver: Receiver) -> TableBackup:
    """Return a backup of the receiver's tables, which is not taken yet."""
    tables = ("schemas", "documents", "shards", "elements", "failures", "progress")
    return TableBackup(receiver.database, *tables)
