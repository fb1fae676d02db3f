from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_domain.document_shards import SHARDS, hash_of, shard_of

from ..conftest import Indexer, MakeIndexer, Registry, make_document

ALL = range(SHARDS)


def shard_of_pk(pk: str) -> int:
    return shard_of(hash_of(pk))


@dataclass
class Scene:
    """The real receiver, and processes of the indexer that run round by round on one database."""

    registry: Registry
    database: Database
    client: str
    make_indexer: MakeIndexer

    def indexer(self, holder: str = "a", producer: Any = None, clock: Clock | None = None) -> Indexer:
        """Return a process without shards."""
        return self.make_indexer(holder, producer, clock)

    async def holder(self, holder: str = "a", producer: Any = None, clock: Clock | None = None) -> Indexer:
        """Return a process that holds all shards."""
        indexer = self.indexer(holder, producer, clock)
        await indexer.take(*ALL)
        return indexer

    async def push(self, *documents: RawDocument) -> None:
        await self.registry.push(*documents)

    async def push_many(self, numbers: Iterable[int], version: int = 1) -> None:
        """Push documents k0, k1, and so on."""
        await self.push(*[make_document(f"k{number}", version) for number in numbers])

    async def push_shard(self, shard: int, count: int) -> list[str]:
        """Push documents of one shard and return their keys."""
        pks = [pk for pk in (f"k{number}" for number in range(20_000)) if shard_of_pk(pk) == shard][:count]
        await self.push(*[make_document(pk) for pk in pks])
        return pks

    async def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return rows of the receiver."""
        return await self.registry.fetch(sql, *parameters)

    async def ends(self) -> dict[int, int]:
        """Return the last idx of the queue of each shard."""
        return dict(await self.fetch("SELECT shard, last_idx FROM shards"))

    async def live(self) -> dict[str, int]:
        """Return the versions of the receiver's live documents."""
        return dict(await self.fetch("SELECT pk, version FROM documents WHERE status = 1"))

    async def execute(self, statement: str, *parameters: Any) -> None:
        """Change the tables of the indexer."""
        async with self.database.connection() as connection:
            await connection.execute(statement, parameters)

    async def expire_leases(self) -> None:
        """Let all leases expire, by the database's clock."""
        await self.execute("UPDATE leases SET expires_at = clock_timestamp()")


@pytest.fixture
def scene(registry: Registry, indexer_database: Database, client: str, make_indexer: MakeIndexer) -> Scene:
    return Scene(registry, indexer_database, client, make_indexer)
