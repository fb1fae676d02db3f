"""Put the schema of an epoch: the first schema of a client, or new fields in its active epoch."""

from __future__ import annotations

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition, InvalidArgument
from classifeed_receiver.domain.schemas import (
    Epoch,
    Epochs,
    EpochState,
    list_faults,
    list_incompatible_changes,
    merge,
)
from classifeed_receiver.store import schemas
from classifeed_receiver.store.known_epochs import KnownEpochs


async def put_schema(database: Database, known: KnownEpochs, schema: Schema) -> Epoch:
    """Create or extend an epoch and return it. Idempotent; changes of one client are serialized.

    Raises:
        InvalidArgument: the schema contradicts itself.
        FailedPrecondition: another epoch is active, or the change is incompatible with stored documents.
    """
    wanted = Schema(
        client=schema.client, epoch=schema.epoch, fields=schema.fields, embeddings=schema.embeddings
    )  # without what the receiver sets
    if faults := list_faults(wanted):
        first = faults[0]
        text = f"{first.field}: {first.description}. Correct the schema and put it again."
        raise InvalidArgument("SCHEMA_INVALID", text, violations=faults)
    async with database.transaction() as tx:
        await schemas.lock_client(tx, wanted.client)
        epochs = await schemas.list_epochs(tx, wanted.client)
        if epochs.by_number:
            epoch = await _change(tx, epochs, wanted)
        else:
            epoch = await schemas.insert_epoch(tx, wanted, EpochState.ACTIVE)
    known.forget(wanted.client)
    return epoch


async def _change(tx: Tx, epochs: Epochs, wanted: Schema) -> Epoch:
    old = _active_epoch(epochs, wanted)
    changes = list_incompatible_changes(old.schema, wanted)
    if changes:
        raise FailedPrecondition(
            "SCHEMA_INCOMPATIBLE",
            f"The schema of epoch {wanted.epoch} of {wanted.client} cannot become this: {'; '.join(changes)}. "
            "Documents of this epoch are stored and indexed. Leave its fields as they are, and add what is new as "
            "optional fields of other names.",
            metadata={"client": wanted.client, "epoch": str(wanted.epoch)},
        )
    merged = merge(old.schema, wanted)
    if merged == old.schema:
        return old
    await schemas.update_schema(tx, merged)
    return Epoch(merged, old.state, old.create_time)


def _active_epoch(epochs: Epochs, wanted: Schema) -> Epoch:
    """Return the epoch that `wanted` is for, if it is the active one.

    Raises:
        FailedPrecondition: another epoch is active; a second epoch cannot be activated yet.
    """
    old = epochs.by_number.get(wanted.epoch)
    metadata = {"client": wanted.client, "active_epoch": str(epochs.active)}
    if wanted.epoch > epochs.active:
        raise FailedPrecondition(
            "SECOND_EPOCH_UNAVAILABLE",
            f"The client {wanted.client} has epoch {epochs.active}, and no second one can be activated yet, so epoch "
            f"{wanted.epoch} is refused: its documents would never be searched. Add what is new to epoch "
            f"{epochs.active} as optional fields.",
            metadata=metadata,
        )
    if old is None:
        raise FailedPrecondition(
            "EPOCH_NOT_NEWEST",
            f"Epoch {wanted.epoch} of {wanted.client} is older than epoch {epochs.active}, which is searched: epochs "
            f"only grow. Put the schema in epoch {epochs.active}, where optional fields can be added.",
            metadata=metadata,
        )
    if old.state != EpochState.ACTIVE:
        raise FailedPrecondition(
            "EPOCH_RETIRED",
            f"Epoch {wanted.epoch} of {wanted.client} is abandoned and cannot be changed; the active one is "
            f"{epochs.active}.",
            metadata=metadata,
        )
    return old
