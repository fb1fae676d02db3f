"""The real receiver in the process of the test, and the scene: a seller's offers that are published to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from classifeed.documents.v1.receiver_service_pb2_grpc import add_ReceiverServiceServicer_to_server
from classifeed.documents.v1.schema_service_pb2_grpc import add_SchemaServiceServicer_to_server
from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_domain.publishing import ReceiverClient, put_schema
from classifeed_offers.domain.documents import schema
from classifeed_receiver.app.pushing.push_documents import PushDocuments
from classifeed_receiver.rpc.receiver_service import ReceiverService
from classifeed_receiver.rpc.schema_service import SchemaService
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs

from ...conftest import Load, Owner, Publishing, Records

REGISTRY_TABLES = ("schemas", "documents", "shards", "elements", "failures", "progress")


class Registry:
    """The real receiver, in this process."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.epochs = KnownEpochs(database, SystemClock(), refresh_s=0.2)
        self.push_documents = PushDocuments(
            database, self.epochs, CommitSignal(), limit_bytes=512 * 1024, transactions=2
        )

    def servicers(self) -> list[Servicer]:
        return [
            Servicer.of(add_ReceiverServiceServicer_to_server, ReceiverService(self.database, self.push_documents)),
            Servicer.of(add_SchemaServiceServicer_to_server, SchemaService(self.database, self.epochs)),
        ]

    async def live(self) -> dict[str, int]:
        """Return the version of each live document by external id."""
        async with self.database.connection() as connection:
            rows = await (await connection.execute("SELECT pk, version FROM documents WHERE status = 1")).fetchall()
        return {pk.rpartition("/")[2]: version for pk, version in rows}


class Scene:
    """A seller's offers, and the real receiver to which they are published."""

    def __init__(self, owner: Owner, registry: Registry, receiver: ReceiverClient) -> None:
        self.owner, self.registry, self.receiver = owner, registry, receiver
        self.database = owner.database
        self.good = Records().good

    def publishing(self, **options: int) -> Publishing:
        """Return a process that publishes; several may run."""
        return Publishing(self.database, self.receiver, **options)

    async def load(self, records: Sequence[OfferRecord], task: int = 1, *, batch_size: int = 100, **load: Any) -> None:
        """Load records as a whole task."""
        await self.owner.load(Load(records, task, batch_size=batch_size, **load))

    async def offers(self) -> dict[str, int]:
        """Return the version of each offer that the search must show."""
        return {external_id: row[6] for external_id, row in (await self.owner.rows()).items() if row[0] == "ACTIVE"}

    async def documents(self) -> dict[str, int]:
        """Return the version of each document that the receiver has."""
        return await self.registry.live()

    async def is_equal(self) -> bool:
        """Return whether the documents of the receiver are the offers that the search must show."""
        return await self.documents() == await self.offers()


@pytest.fixture
def scene(owner: Owner, registry: Registry, receiver: ReceiverClient) -> Scene:
    return Scene(owner, registry, receiver)


@pytest.fixture
async def registry(migrated_database: MigratedDatabase) -> Registry:
    return Registry(await migrated_database("classifeed_receiver"))


@pytest.fixture
async def receiver(registry: Registry, rpc_server: StartServer, rpc_channel: OpenChannel) -> ReceiverClient:
    target = await rpc_server("receiver", *registry.servicers())
    receiver = ReceiverClient(rpc_channel(target, caller="offers", audience="receiver"), schema())
    await put_schema(receiver, schema(), asyncio.Event(), lambda fault: None)
    return receiver
