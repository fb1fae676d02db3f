from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import protovalidate
import pytest

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_receiver.domain.documents import EpochTooOld, Invalid, NewDocument, Status
from classifeed_receiver.domain.schemas import Epoch, Epochs, EpochState
from classifeed_receiver.domain.validation import check_document

from ...conftest import Build

LIMIT_BYTES = 100_000


@pytest.fixture
def epochs(build: Build) -> Epochs:
    put = datetime(2026, 1, 1, tzinfo=UTC)
    return Epochs(
        {
            7: Epoch(build.schema(7), EpochState.OPEN, put),
            5: Epoch(build.schema(5), EpochState.ACTIVE, put),
            3: Epoch(build.schema(3), EpochState.RETIRED, put),
        }
    )


def add(name: str, *values: dict[str, Any]) -> Callable[[RawDocument], None]:
    def change(document: RawDocument) -> None:
        document.fields.add(name=name, values=values)

    return change


def change(**values: Any) -> Callable[[RawDocument], None]:
    def apply(document: RawDocument) -> None:
        for name, value in values.items():
            setattr(document, name, value)

    return apply


def with_body(body: str) -> Callable[[RawDocument], None]:
    def apply(document: RawDocument) -> None:
        document.ClearField("fields")
        document.body = body

    return apply


def stamp(seconds: int = 0, nanos: int = 0) -> Callable[[RawDocument], None]:
    def apply(document: RawDocument) -> None:
        document.timestamp.seconds = seconds
        document.timestamp.nanos = nanos

    return apply


def ttl(seconds: int = 0, nanos: int = 0) -> Callable[[RawDocument], None]:
    def apply(document: RawDocument) -> None:
        document.ttl.seconds = seconds
        document.ttl.nanos = nanos

    return apply


def embed(name: str, *values: float) -> Callable[[RawDocument], object]:
    return lambda document: document.embeddings.add(name=name, values=values)


NAN = float("nan")
WRONG: list[tuple[str, Callable[[RawDocument], object], str]] = [
    ("pk", change(pk=""), "1 to 1200 bytes"),
    ("pk", change(pk="ы" * 601), "1 to 1200 bytes"),
    ("pk", change(pk="a\0b"), "none of them 0"),
    ("version", change(version=0), "greater than 0"),
    ("version", change(version=-1), "greater than 0"),
    ("epoch", change(epoch=0), "greater than 0"),
    ("epoch", change(epoch=6), "6 is not the active epoch; compose the document for 5"),
    ("epoch", change(epoch=7), "7 is not the active epoch"),
    ("action", change(action=0), "UPSERT or DELETE"),
    ("action", change(action=9), "UPSERT or DELETE"),
    ("timestamp", lambda document: document.ClearField("timestamp"), "must be set"),
    ("timestamp", stamp(nanos=1), "whole microseconds"),
    ("timestamp", stamp(nanos=-1000), "1 to 9999"),
    ("timestamp", stamp(seconds=10**12), "1 to 9999"),
    ("ttl", ttl(), "positive"),
    ("ttl", ttl(seconds=-1), "positive"),
    ("ttl", ttl(seconds=300_000_000_000), "before the year 10000"),
    ("fields", lambda document: document.ClearField("fields"), "at least one field"),
    ("fields", lambda document: document.fields.pop(), "at least one field"),
    ("fields[1].name", add("colour", {"string_value": "red"}), "'colour' is not a field of epoch 5"),
    ("fields[1].name", add("title", {"string_value": "again"}), "title is used twice"),
    ("fields[1].values", add("stock"), "0 values, exactly 1"),
    ("fields[1].values", add("stock", {"int_value": 1}, {"int_value": 2}), "2 values, exactly 1"),
    ("fields[1].values", add("tags", *[{"string_value": "a"}] * 1025), "allowed are 1 to 1024"),
    ("fields[1].values[0]", add("stock", {"double_value": 1}), "stock is INT and takes int_value, not double_value"),
    ("fields[1].values[1]", add("tags", {"string_value": "a"}, {"int_value": 2}), "tags is STRING"),
    ("fields[1].values[0]", add("price", {}), "an empty value"),
    ("fields[1].values[0]", add("price", {"double_value": NAN}), "finite"),
    ("fields[1].values[0]", add("price", {"double_value": float("-inf")}), "finite"),
    ("fields[1].values[0]", add("place", {"geo_value": {"latitude": 90.1}}), "latitude"),
    ("fields[1].values[0]", add("place", {"geo_value": {"longitude": NAN}}), "longitude"),
    ("fields[1].values[0]", add("made", {"timestamp_value": {"seconds": -(10**12)}}), "1 to 9999"),
    ("embeddings[0].name", embed("colour", 1), "not an embedding of epoch 5"),
    ("embeddings[0].values", embed("meaning", 1, 2), "2 components, the schema requires 3"),
    ("embeddings[0].values", embed("meaning", 1, 2, NAN), "finite"),
    ("document", add("tags", {"string_value": "x" * LIMIT_BYTES}), "at most 100000 are allowed"),
    ("fields", change(body='{"title":"t"}'), "leave one of the two out"),
    ("body.colour", with_body('{"title":"t","colour":"red"}'), "'colour' is not a field of epoch 5"),
    ("body.stock", with_body('{"title":"t","stock":1.5}'), "stock is INT and takes an integer of 64 bits, not 1.5"),
    ("body", with_body('{"stock":1}'), "title: required in epoch 5 and missing"),
    ("body", with_body("{"), "no JSON"),
    ("document", with_body(f'{{"title":"t","tags":["{"x" * LIMIT_BYTES}"]}}'), "at most 100000 are allowed"),
]


@pytest.mark.parametrize(
    ("field", "spoil", "message"), WRONG, ids=[f"{field} {message}" for field, _, message in WRONG]
)
def test_wrong_document_is_refused_with_the_field(
    build: Build, epochs: Epochs, field: str, spoil: Callable[[RawDocument], Any], message: str
) -> None:
    document = build.upsert("1", epoch=5)
    spoil(document)
    verdict = check_document(document, epochs, limit_bytes=LIMIT_BYTES)
    assert isinstance(verdict, Invalid)
    assert [violation.field for violation in verdict.violations] == [field]
    assert message in verdict.violations[0].description


def test_missing_required_field_is_named(build: Build, epochs: Epochs) -> None:
    document = build.upsert("1", epoch=5)
    document.fields[0].name = "stock"
    document.fields[0].values[0].int_value = 1
    verdict = check_document(document, epochs, limit_bytes=LIMIT_BYTES)
    assert isinstance(verdict, Invalid)
    assert "title: required in epoch 5 and missing" in verdict.violations[0].description


def test_all_faults_of_a_document_are_reported_at_once(build: Build, epochs: Epochs) -> None:
    document = build.upsert("1", epoch=5)
    add("stock", {"bool_value": True})(document)
    add("colour", {"bool_value": True})(document)
    embed("meaning", 1)(document)
    verdict = check_document(document, epochs, limit_bytes=LIMIT_BYTES)
    assert isinstance(verdict, Invalid)
    assert [violation.field for violation in verdict.violations] == [
        "fields[1].values[0]",
        "fields[2].name",
        "embeddings[0].values",
    ]


@pytest.mark.parametrize(
    "spoil",
    [add("title", {"string_value": "x"}), embed("meaning", 1, 2, 3), ttl(seconds=1), change(body='{"title":"x"}')],
    ids=["fields", "emb", "ttl", "body"],
)
def test_delete_carries_nothing(build: Build, epochs: Epochs, spoil: Callable[[RawDocument], Any]) -> None:
    document = build.delete("1", 1, epoch=5)
    spoil(document)
    assert isinstance(check_document(document, epochs, limit_bytes=LIMIT_BYTES), Invalid)


@pytest.mark.parametrize("epoch", [1, 3, 4])
def test_epoch_left_behind(build: Build, epochs: Epochs, epoch: int) -> None:
    verdict = check_document(build.upsert("1", epoch=epoch), epochs, limit_bytes=LIMIT_BYTES)
    assert verdict == EpochTooOld(current_epoch=5)


def test_right_document_passes(build: Build, epochs: Epochs) -> None:
    document = build.upsert("1", epoch=5, ttl_s=60)
    add("price", {"double_value": 1.5})(document)
    add("stock", {"int_value": 0})(document)
    add("is_new", {"bool_value": False})(document)
    add("made", {"timestamp_value": {"seconds": 1, "nanos": 1}})(document)
    add("place", {"geo_value": {"latitude": 55.75, "longitude": 37.61}})(document)
    add("tags", {"string_value": "a"}, {"string_value": "b"})(document)
    embed("meaning", 1, 2, 3)(document)
    verdict = check_document(document, epochs, limit_bytes=LIMIT_BYTES)
    assert isinstance(verdict, NewDocument)
    assert verdict.status is Status.LIVE
    assert verdict.expires_at is not None
    assert (verdict.expires_at - verdict.freshness.modify_timestamp).total_seconds() == 60
    assert RawDocument.FromString(verdict.content) == document


def test_right_delete_passes(build: Build, epochs: Epochs) -> None:
    verdict = check_document(build.delete("1", 1, epoch=5), epochs, limit_bytes=LIMIT_BYTES)
    assert isinstance(verdict, NewDocument)
    assert verdict.status is Status.TOMBSTONE


def test_what_the_rules_of_the_proto_refuse_is_refused_here(build: Build, epochs: Epochs) -> None:
    """The check by hand replaces protovalidate for every document, so it must not be more lenient."""
    refused = 0
    for _, spoil, _ in WRONG:
        document = build.upsert("1", epoch=5)
        spoil(document)
        if protovalidate.collect_violations(document):
            refused += 1
            assert not isinstance(check_document(document, epochs, limit_bytes=LIMIT_BYTES), NewDocument)
    assert refused >= 15
