"""A table of goods with a publish mark, and the service that receives them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from classifeed_common.db import Database
from classifeed_common.errors import Unavailable
from classifeed_common.publish_mark import FIRST_VERSION, next_version

TABLE = """
CREATE TABLE goods (
    id text PRIMARY KEY,
    price int NOT NULL,
    version bigint NOT NULL,
    published_version bigint NOT NULL DEFAULT 0,
    dirty boolean NOT NULL DEFAULT true
);
CREATE INDEX goods_due ON goods (version) WHERE version > published_version;
"""
PUT = f"""
INSERT INTO goods (id, price, version) VALUES (%s, %s, {FIRST_VERSION})
ON CONFLICT (id) DO UPDATE SET price = EXCLUDED.price, version = {next_version("goods.version")}, dirty = true
RETURNING id, price, version
"""
SELECT_DUE = """
SELECT id, price, version FROM goods
WHERE version > published_version AND version > %(above)s ORDER BY version LIMIT %(limit)s
"""
ADVANCE = """
UPDATE goods g
   SET published_version = d.version
  FROM unnest(%(ids)s::text[], %(versions)s::bigint[]) AS d (id, version)
 WHERE g.id = d.id AND g.published_version < d.version
"""


class Peer:
    """The other service: accepts what it receives unless it has a newer version."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, int]] = {}  # id → (version, price)
        self.refused: set[str] = set()
        self.away = 0
        self.calls: list[int] = []
        self.before_response: Callable[[], Awaitable[None]] | None = None

    async def push(self, rows: Sequence[tuple[Any, ...]]) -> list[bool]:
        self.calls.append(len(rows))
        await asyncio.sleep(0)
        if self.away:
            self.away -= 1
            raise Unavailable("PEER_AWAY", "the peer is away")
        for row_id, price, version in rows:
            if row_id not in self.refused:
                self.known[row_id] = max(self.known.get(row_id, (0, 0)), (version, price))
        if self.before_response is not None:
            before, self.before_response = self.before_response, None
            await before()
        return [row[0] not in self.refused for row in rows]

    def prices(self) -> dict[str, int]:
        return {row_id: price for row_id, (_, price) in self.known.items()}


async def put(db: Database, row_id: str, price: int) -> None:
    async with db.transaction() as tx:
        await tx.execute(PUT, [row_id, price])


async def prices(db: Database) -> dict[str, int]:
    async with db.connection() as connection:
        return dict(await (await connection.execute("SELECT id, price FROM goods")).fetchall())


async def until(condition: Callable[[], Awaitable[bool]], within_s: float = 60) -> None:
    async with asyncio.timeout(within_s):
        while not await condition():
            await asyncio.sleep(0.01)
