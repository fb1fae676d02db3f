"""Changes of a client's epochs are serialized."""

from __future__ import annotations

import asyncio

from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_receiver.store import schemas

from ...conftest import Build, Receiver


async def test_a_schema_waits_for_the_one_before_of_its_client(receiver: Receiver, build: Build) -> None:
    """Without the lock, the schema that it is compared with would be out of date at the write."""
    schema = build.schema()
    async with receiver.database.transaction() as tx:
        await schemas.lock_client(tx, schema.client)
        putting = asyncio.create_task(receiver.put(schema))
        assert await comes_to_wait(putting, receiver.database, behind=tx)
    await putting
