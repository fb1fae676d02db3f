from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from classifeed.documents.v1.schema_pb2 import EPOCH_STATE_OPEN, FIELD_TYPE_INT, Schema
from classifeed_common.errors import FailedPrecondition, InvalidArgument
from classifeed_receiver.domain.schemas import EpochState

from ...conftest import Build, Receiver


async def test_first_epoch_is_active_whatever_its_number(receiver: Receiver, build: Build) -> None:
    assert (await receiver.put(build.schema(3, client="points"))).state is EpochState.ACTIVE
    assert (await receiver.epochs.get("points")).active == 3


async def refusal(receiver: Receiver, schema: Schema) -> FailedPrecondition:
    with pytest.raises(FailedPrecondition) as raised:
        await receiver.put(schema)
    return raised.value


@pytest.mark.parametrize("known_as", [None, EpochState.OPEN, EpochState.RETIRED])
async def test_second_epoch_is_refused_in_words(receiver: Receiver, build: Build, known_as: EpochState | None) -> None:
    """It can never be activated: the search would keep the old version of each document written in it for ever."""
    if known_as is not None:  # an earlier release accepted it
        await receiver.put_epoch(build.schema(2), known_as)
    refused = await refusal(receiver, build.schema(2))
    assert refused.reason == "SECOND_EPOCH_UNAVAILABLE"
    assert "Add what is new to epoch 1 as optional fields" in refused.message
    assert (await receiver.epochs.get("offers")).active == 1


async def test_epoch_behind_the_active_one_is_refused(receiver: Receiver, build: Build) -> None:
    await receiver.put(build.schema(3, client="points"))
    refused = await refusal(receiver, build.schema(2, client="points"))
    assert refused.reason == "EPOCH_NOT_NEWEST"
    assert "Put the schema in epoch 3" in refused.message
    await receiver.put_epoch(build.schema(4, client="points"), EpochState.ACTIVE)
    assert (await refusal(receiver, build.schema(3, client="points"))).reason == "EPOCH_RETIRED"


async def test_optional_field_is_added_inside_an_epoch(receiver: Receiver, build: Build) -> None:
    schema = build.schema()
    schema.fields.add(name="colour", type="FIELD_TYPE_STRING")
    await receiver.put(schema)
    assert "colour" in (await receiver.epochs.get("offers")).by_number[1].fields
    with pytest.raises(FailedPrecondition, match="field colour is missing"):
        await receiver.put(build.schema())


async def test_incompatible_change_is_refused_without_leading_to_a_second_epoch(
    receiver: Receiver, build: Build
) -> None:
    schema = build.schema()
    schema.fields[1].type = FIELD_TYPE_INT
    refused = await refusal(receiver, schema)
    assert refused.reason == "SCHEMA_INCOMPATIBLE"
    assert "field price differs in type" in refused.message
    assert "optional fields of other names" in refused.message
    assert "epoch 2" not in refused.message


async def test_contradiction_is_refused(receiver: Receiver, build: Build) -> None:
    schema = build.schema(2)
    schema.fields.add(name="title", type="FIELD_TYPE_STRING")
    with pytest.raises(InvalidArgument) as raised:
        await receiver.put(schema)
    assert [violation.field for violation in raised.value.violations] == ["schema.fields[7].name"]


async def test_what_the_receiver_sets_is_not_taken_from_the_caller(receiver: Receiver, build: Build) -> None:
    schema = build.schema(client="points")
    schema.state = EPOCH_STATE_OPEN
    schema.create_time.seconds = 1
    epoch = await receiver.put(schema)
    assert epoch.state is EpochState.ACTIVE
    assert epoch.create_time.year > 2000
    assert not epoch.schema.HasField("create_time")


async def test_two_first_epochs_at_a_time(make_receiver: Callable[..., Receiver], build: Build) -> None:
    replicas = [make_receiver() for _ in range(6)]
    put = await asyncio.gather(
        *[replica.put(build.schema(number + 1)) for number, replica in enumerate(replicas)], return_exceptions=True
    )
    assert {type(epoch) for epoch in put if isinstance(epoch, BaseException)} <= {FailedPrecondition}
    states = [epoch.state for epoch in put if not isinstance(epoch, BaseException)]
    assert states.count(EpochState.ACTIVE) == 1
