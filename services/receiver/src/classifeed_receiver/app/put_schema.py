"""Put the schema of an epoch: the first of a client, a new one beside it, or a field more inside one."""

from __future__ import annotations

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition, InvalidArgument
from classifeed_receiver.app.known_epochs import KnownEpochs
from classifeed_receiver.domain.schemas import (
    Epoch,
    Epochs,
    EpochState,
    find_faults,
    find_incompatible_changes,
    merge,
)
from classifeed_receiver.store import schemas


async def put_schema(database: Database, known: KnownEpochs, schema: Schema) -> Epoch:
    """Returns the epoch as it stands now. Idempotent; one change of a client at a time.

    Raises:
        InvalidArgument: the schema contradicts itself.
        FailedPrecondition: the epoch exists and the change is not compatible, or the epoch lies behind.
    """
    wanted = Schema(
        client=schema.client, epoch=schema.epoch, fields=schema.fields, embeddings=schema.embeddings
    )  # without what the receiver sets
    if faults := find_faults(wanted):
        first = faults[0]
        text = f"{first.field}: {first.description}. Correct the schema and put it again."
        raise InvalidArgument("SCHEMA_INVALID", text, violations=faults)
    async with database.transaction() as tx:
        await schemas.lock_client(tx, wanted.client)
        epochs = await schemas.select_epochs(tx, wanted.client)
        old = epochs.by_number.get(wanted.epoch)
        epoch = await (_add(tx, epochs, wanted) if old is None else _change(tx, epochs, old, wanted))
    known.forget(wanted.client)
    return epoch


async def _add(tx: Tx, epochs: Epochs, wanted: Schema) -> Epoch:
    if wanted.epoch < epochs.newest:
        raise FailedPrecondition(
            "EPOCH_NOT_NEWEST",
            f"Epoch {wanted.epoch} of {wanted.client} cannot be added behind epoch {epochs.newest}: epochs grow. "
            f"Put the schema as epoch {epochs.newest + 1}.",
            metadata={"client": wanted.client, "newest_epoch": str(epochs.newest)},
        )
    state = EpochState.OPEN if epochs.by_number else EpochState.ACTIVE
    return await schemas.insert_epoch(tx, wanted, state)


async def _change(tx: Tx, epochs: Epochs, old: Epoch, wanted: Schema) -> Epoch:
    changes = find_incompatible_changes(old.schema, wanted)
    if changes:
        raise FailedPrecondition(
            "SCHEMA_INCOMPATIBLE",
            f"The schema of epoch {wanted.epoch} of {wanted.client} cannot become this: {'; '.join(changes)}. "
            "Inside an epoch only optional fields can be added; put the schema as epoch "
            f"{epochs.newest + 1} and push all documents anew.",
            metadata={"client": wanted.client, "epoch": str(wanted.epoch)},
        )
    merged = merge(old.schema, wanted)
    if merged == old.schema:
        return old
    if old.state == EpochState.RETIRED:
        raise FailedPrecondition(
            "EPOCH_RETIRED",
            f"Epoch {wanted.epoch} of {wanted.client} was left behind and is not changed any more; "
            f"the active one is {epochs.active}.",
            metadata={"client": wanted.client, "active_epoch": str(epochs.active)},
        )
    await schemas.update_schema(tx, merged)
    return Epoch(merged, old.state, old.create_time)
