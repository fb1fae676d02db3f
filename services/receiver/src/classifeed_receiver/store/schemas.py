"""Reads and writes of the epochs and their schemas."""

from __future__ import annotations

from typing import Final

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.db import Tx, load_queries
from classifeed_receiver.domain.schemas import Epoch, Epochs, EpochState

_SQL: Final = load_queries(__package__, "schemas.sql")


async def lock_client(tx: Tx, client: str) -> None:
    """Lock the client's epochs against other changes until the transaction ends."""
    await tx.execute(_SQL["lock_client"], {"client": client})


async def list_epochs(tx: Tx, client: str) -> Epochs:
    """Return the epochs of a client, the newest first."""
    cursor = await tx.execute(_SQL["list_epochs"], {"client": client})
    return Epochs(
        {
            number: Epoch(Schema.FromString(schema), EpochState(state), create_time)
            for number, state, schema, create_time in await cursor.fetchall()
        }
    )


async def list_clients(tx: Tx) -> list[str]:
    """Return the clients that have an epoch."""
    return [client for (client,) in await (await tx.execute(_SQL["list_clients"])).fetchall()]


async def insert_epoch(tx: Tx, schema: Schema, state: EpochState) -> Epoch:
    """Add an epoch."""
    cursor = await tx.execute(
        _SQL["insert_epoch"],
        {"client": schema.client, "epoch": schema.epoch, "state": state.value, "schema": _bytes_of(schema)},
    )
    row = await cursor.fetchone()
    assert row is not None
    return Epoch(schema, state, row[0])


async def update_schema(tx: Tx, schema: Schema) -> None:
    """Replace the schema of an epoch."""
    await tx.execute(
        _SQL["update_schema"], {"client": schema.client, "epoch": schema.epoch, "schema": _bytes_of(schema)}
    )


def _bytes_of(schema: Schema) -> bytes:
    return schema.SerializeToString(deterministic=True)
