from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed_common.errors import FailedPrecondition, InvalidArgument
from classifeed_receiver.domain.schemas import EpochState


async def test_first_epoch_is_active_a_later_one_open(receiver: Any, build: Any):
    assert (await receiver.put(build.schema(1))).state is EpochState.ACTIVE
    assert (await receiver.put(build.schema(3))).state is EpochState.OPEN
    epochs = await receiver.epochs.get("offers")
    assert (epochs.active, epochs.newest) == (1, 3)


async def test_epoch_behind_the_newest_cannot_be_added(receiver: Any, build: Any):
    await receiver.put(build.schema(3))
    with pytest.raises(FailedPrecondition) as raised:
        await receiver.put(build.schema(2))
    assert raised.value.reason == "EPOCH_NOT_NEWEST"
    assert "Put the schema as epoch 4" in raised.value.message


async def test_optional_field_is_added_inside_an_epoch(receiver: Any, build: Any):
    schema = build.schema()
    schema.fields.add(name="colour", type="FIELD_TYPE_STRING")
    await receiver.put(schema)
    assert "colour" in (await receiver.epochs.get("offers")).by_number[1].fields
    with pytest.raises(FailedPrecondition, match="field colour is missing"):
        await receiver.put(build.schema())


async def test_incompatible_change_needs_a_new_epoch(receiver: Any, build: Any):
    schema = build.schema()
    schema.fields[1].type = 3
    with pytest.raises(FailedPrecondition) as raised:
        await receiver.put(schema)
    assert raised.value.reason == "SCHEMA_INCOMPATIBLE"
    assert "field price differs in type" in raised.value.message
    assert "as epoch 2" in raised.value.message
    schema.epoch = 2
    assert (await receiver.put(schema)).state is EpochState.OPEN


async def test_contradiction_is_refused(receiver: Any, build: Any):
    schema = build.schema(2)
    schema.fields.add(name="title", type="FIELD_TYPE_STRING")
    with pytest.raises(InvalidArgument) as raised:
        await receiver.put(schema)
    assert [violation.field for violation in raised.value.violations] == ["schema.fields[7].name"]


async def test_what_the_receiver_sets_is_not_taken_from_the_caller(receiver: Any, build: Any):
    schema = build.schema(2)
    schema.state = 2
    schema.create_time.seconds = 1
    epoch = await receiver.put(schema)
    assert epoch.state is EpochState.OPEN
    assert epoch.create_time.year > 2000
    assert not epoch.schema.HasField("create_time")


async def test_two_first_epochs_at_a_time(make_receiver: Any, build: Any):
    replicas = [make_receiver() for _ in range(6)]
    put = await asyncio.gather(
        *[replica.put(build.schema(number + 1)) for number, replica in enumerate(replicas)], return_exceptions=True
    )
    states = [epoch.state for epoch in put if not isinstance(epoch, FailedPrecondition)]
    assert states.count(EpochState.ACTIVE) == 1
