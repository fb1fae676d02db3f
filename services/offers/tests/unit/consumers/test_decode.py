"""Decoding of requests, and poison records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from classifeed.feeds.v1.load_pb2 import LOAD_MODE_PATCH
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, TaskEnd
from classifeed_common.kafka import Poison, Record, message_of
from classifeed_offers.consumers.decode import decode_request, parse_request

from ...conftest import Load, Records


def record_of(proto: Message, *, key: bytes = b"seller", **changes: Any) -> Record:
    message = message_of("requests", key, proto)
    fields = {"value": message.value, "headers": message.headers} | changes
    return Record(topic="requests", partition=0, offset=7, key=key, timestamp_ms=0, **fields)


def test_requests_come_out_as_they_went_in(records: Records, new_load: type[Load]) -> None:
    load = new_load(
        [records.good("a"), records.broken("b"), records.kept("c"), records.duplicate(4), records.unidentified(5)]
    )
    for message in load.messages:
        assert decode_request(record_of(message)) == message


def test_a_patch_needs_no_hash(records: Records, new_load: type[Load]) -> None:
    load = new_load([records.patch("a", 1)], mode=LOAD_MODE_PATCH)
    load.batches[0].records[0].content_hash = b""
    assert decode_request(record_of(load.batches[0])) == load.batches[0]


def spoil_batch(change: Callable[[OfferBatch], object]) -> Callable[[Load], OfferBatch]:
    def spoil(load: Load) -> OfferBatch:
        change(load.batches[0])
        return load.batches[0]

    return spoil


def spoil_end(change: Callable[[TaskEnd], object]) -> Callable[[Load], TaskEnd]:
    def spoil(load: Load) -> TaskEnd:
        change(load.end)
        return load.end

    return spoil


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_batch(lambda it: it.ClearField("seller_id")), "seller_id"),
        (spoil_batch(lambda it: setattr(it, "namespace", "x" * 65)), "namespace"),
        (spoil_batch(lambda it: setattr(it, "namespace", "a\0b")), "namespace"),
        (spoil_batch(lambda it: setattr(it, "seller_id", "other")), "the order is not guaranteed"),
        (spoil_batch(lambda it: setattr(it, "task_id", 0)), "task_id 0"),
        (spoil_batch(lambda it: setattr(it, "run", 0)), "run 0"),
        (spoil_batch(lambda it: setattr(it, "batch_id", 0)), "batch_id 0"),
        (spoil_batch(lambda it: setattr(it, "mode", 0)), "mode 0"),
        (spoil_batch(lambda it: setattr(it, "digest", b"short")), "digest has 5 bytes"),
        (spoil_batch(lambda it: setattr(it.records[0], "kind", 9)), "kind 9"),
        (spoil_batch(lambda it: setattr(it.records[0], "external_id", "")), "external_id must have"),
        (spoil_batch(lambda it: setattr(it.records[0], "external_id", "x" * 257)), "external_id must have"),
        (spoil_batch(lambda it: setattr(it.records[0], "external_id", "a\0")), "external_id must have"),
        (spoil_batch(lambda it: setattr(it.records[0], "external_id", "b")), "'b') of batch 1: is in the batch twice"),
        (spoil_batch(lambda it: it.records[0].ClearField("content")), "neither content nor an error"),
        (spoil_batch(lambda it: setattr(it.records[1], "content_hash", b"")), "record 2"),
        (spoil_end(lambda it: setattr(it, "disposition", 0)), "disposition 0"),
        (spoil_end(lambda it: setattr(it, "batch_count", -1)), "batch_count -1"),
        (spoil_end(lambda it: setattr(it, "decision", 9)), "decision 9"),
    ],
)
def test_what_breaks_the_protocol_is_poison(
    records: Records, new_load: type[Load], spoil: Callable[[Load], OfferBatch | TaskEnd], words: str
) -> None:
    spoiled = spoil(new_load([records.good("a"), records.good("b")]))
    with pytest.raises(Poison, match=words.replace("(", r"\(").replace(")", r"\)")):
        decode_request(record_of(spoiled))


def test_a_batch_whose_result_might_not_fit_is_poison(records: Records, new_load: type[Load]) -> None:
    many = new_load([records.good(str(number)) for number in range(101)], batch_size=101)
    large = new_load([records.good("a", "x" * 950_000)])
    for load in (many, large):
        with pytest.raises(Poison, match="the limits are"):
            decode_request(record_of(load.batches[0]))


def test_a_patch_of_an_unknown_field_is_poison(records: Records, new_load: type[Load]) -> None:
    load = new_load([records.patch("a", 1)], mode=LOAD_MODE_PATCH)
    load.batches[0].records[0].named_fields.append("colour")
    with pytest.raises(Poison, match="colour"):
        decode_request(record_of(load.batches[0]))


@pytest.mark.parametrize(
    "changes", [{"headers": {}}, {"headers": {"type": b"classifeed.feeds.v1.TaskEndResult"}}, {"value": b"\xff\xff"}]
)
def test_what_is_no_request_is_poison(records: Records, new_load: type[Load], changes: dict[str, Any]) -> None:
    record = record_of(new_load([]).end, **changes)
    assert parse_request(record) is None
    with pytest.raises(Poison, match="is not a request"):
        decode_request(record)
