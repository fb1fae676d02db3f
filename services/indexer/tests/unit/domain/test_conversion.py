from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed_indexer.domain.conversion import Converter, Unconvertible

from ...conftest import MakeDocument, MakeSchema


@pytest.fixture
def converter(schema: MakeSchema) -> Converter:
    return Converter(schema("offers", 3))


def test_document_in_the_order_of_its_schema(converter: Converter, document: MakeDocument) -> None:
    raw = document("a", 7, epoch=3)
    raw.fields.add(name="tags", values=[{"string_value": "x"}, {"string_value": "y"}])
    raw.fields.add(name="price").values.add(double_value=5)
    raw.embeddings.add(name="meaning", values=[1, 2, 3])
    converted = converter.convert(raw)
    assert [field.name for field in converted.fields] == ["price", "title", "tags"]
    assert [value.string_value for value in converted.fields[2].values] == ["x", "y"]
    assert (converted.client, converted.epoch, converted.pk, converted.version) == ("offers", 3, "a", 7)
    assert converted.action == DOCUMENT_ACTION_UPSERT
    assert converted.timestamp == raw.timestamp
    assert list(converted.embeddings[0].values) == [1, 2, 3]


def test_a_body_goes_on_as_it_is(converter: Converter, document: MakeDocument) -> None:
    raw = document("a", 7, epoch=3)
    raw.ClearField("fields")
    raw.body = '{"title":"Стул","price":5.0}'
    raw.embeddings.add(name="meaning", values=[1, 2, 3])
    converted = converter.convert(raw)
    assert (converted.body, list(converted.fields)) == (raw.body, [])
    assert (converted.epoch, converted.pk, converted.version) == (3, "a", 7)
    assert list(converted.embeddings[0].values) == [1, 2, 3]
    assert converted.client == "", "a searcher that does not know bodies would take it in without fields"


@pytest.mark.parametrize("body", ['{"title":"t","price":"5"}', "{"])
def test_a_body_that_does_not_fit_is_named(converter: Converter, document: MakeDocument, body: str) -> None:
    raw = document("a", epoch=3)
    raw.ClearField("fields")
    raw.body = body
    with pytest.raises(Unconvertible, match="body"):
        converter.convert(raw)


def test_delete_has_no_fields(converter: Converter) -> None:
    converted = converter.convert(RawDocument(pk="a", version=1, epoch=3, action=DOCUMENT_ACTION_DELETE))
    assert converted.action == DOCUMENT_ACTION_DELETE
    assert not converted.fields


def field(name: str, *values: dict[str, Any]) -> Callable[[RawDocument], object]:
    return lambda raw: raw.fields.add(name=name, values=values)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (field("colour", {"string_value": "red"}), "field 'colour' is not in the schema of epoch 3"),
        (field("price", {"string_value": "5"}), "field price is DOUBLE and takes double_value, not string_value"),
        (field("price", {}), "an empty value"),
        (field("price", {"double_value": 1}, {"double_value": 2}), "2 values, but is not repeated"),
        (lambda raw: raw.embeddings.add(name="meaning", values=[1]), "1 components; epoch 3 has 3"),
        (lambda raw: raw.embeddings.add(name="other", values=[1]), "has none of this name"),
    ],
)
def test_what_does_not_fit_is_named(
    converter: Converter, document: MakeDocument, spoil: Callable[[RawDocument], object], message: str
) -> None:
    raw = document("a", epoch=3)
    spoil(raw)
    with pytest.raises(Unconvertible, match=message.replace("(", "\\(")):
        converter.convert(raw)
