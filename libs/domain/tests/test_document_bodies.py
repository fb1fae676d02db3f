"""Bodies of documents, compared with equivalent messages of fields."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed.documents.v1.document_pb2 import Field, Value
from classifeed.documents.v1.schema_pb2 import FieldSchema, FieldType, Schema
from classifeed_domain.document_bodies import BodyCodec, GeoPoint, encode_body

_TYPES = {
    "word": FieldType.FIELD_TYPE_STRING,
    "text": FieldType.FIELD_TYPE_TEXT,
    "number": FieldType.FIELD_TYPE_INT,
    "price": FieldType.FIELD_TYPE_DOUBLE,
    "is_new": FieldType.FIELD_TYPE_BOOL,
    "at": FieldType.FIELD_TYPE_TIMESTAMP,
    "place": FieldType.FIELD_TYPE_GEO_POINT,
}
SCHEMA = Schema(
    client="offers",
    epoch=1,
    fields=[
        *(FieldSchema(name=name, type=type_, required=name == "word") for name, type_ in _TYPES.items()),
        *(FieldSchema(name=f"{name}s", type=type_, repeated=True) for name, type_ in _TYPES.items()),
    ],
)
CODEC = BodyCodec(SCHEMA)

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "word": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    "number": st.integers(-(2**63), 2**63 - 1),
    "price": st.floats(allow_nan=False, allow_infinity=False),
    "is_new": st.booleans(),
    "at": st.datetimes(timezones=st.just(UTC)),
    "place": st.builds(GeoPoint, st.floats(-90, 90), st.floats(-180, 180)),
}
BODIES = st.fixed_dictionaries(
    {"word": _VALUES["word"]},
    optional={
        **{name: values for name, values in _VALUES.items() if name != "word"},
        **{f"{name}s": st.lists(values, min_size=1, max_size=3) for name, values in _VALUES.items()},
    },
)


@given(BODIES)
def test_a_body_and_its_fields_say_the_same(values: dict[str, Any]) -> None:
    body = CODEC.normalize(encode_body(values))
    assert body is not None
    assert CODEC.read(body) == values
    assert CODEC.body_of(CODEC.fields_of(body)) == body


@given(BODIES, st.randoms(use_true_random=False))
def test_one_content_has_one_form(values: dict[str, Any], rng: Any) -> None:
    names = list(values)
    rng.shuffle(names)
    spaced = msgspec.json.format(encode_body({name: values[name] for name in names}), indent=2)
    assert CODEC.normalize(spaced) == CODEC.normalize(encode_body(values))


def test_a_backslash_before_zeros_is_no_nul() -> None:
    assert CODEC.normalize(r'{"word":"\\u0000"}') == r'{"word":"\\u0000"}'


def test_times_become_utc() -> None:
    here = datetime(2026, 11, 24, 15, 0, 0, 123456, timezone(timedelta(hours=3)))
    body = CODEC.normalize(encode_body({"word": "w", "at": here, "ats": [here]}))
    assert body == '{"word":"w","at":"2026-11-24T12:00:00.123456Z","ats":["2026-11-24T12:00:00.123456Z"]}'


_WRONG = {
    "{": ("body", "no JSON"),
    "[" * 100_000: ("body", "no JSON"),
    '{"word":"\\ud800"}': ("body", "no JSON"),
    '{"word":"w","price":1e999}': ("body", "no JSON"),
    '{"word":"w","price":NaN}': ("body", "no JSON"),
    "[]": ("body", "must be a JSON object"),
    "{}": ("body", "at least one field"),
    '{"text":"t"}': ("body", "word: required in epoch 1 and missing"),
    '{"word":"w","colour":1}': ("body.colour", "'colour' is not a field of epoch 1"),
    '{"word":5}': ("body.word", "word is STRING and takes a string, not 5"),
    '{"word":"w\\u0000"}': ("body.word", "word has a character with the number 0"),
    '{"word":"w","texts":["a","\\u0000"]}': ("body.texts[1]", "texts has a character with the number 0"),
    '{"word":null}': ("body.word", "word is STRING and takes a string, not null"),
    '{"word":"w","number":1.5}': ("body.number", "number is INT and takes an integer of 64 bits, not 1.5"),
    '{"word":"w","number":9223372036854775808}': ("body.number", "not 9223372036854775808"),
    '{"word":"w","price":"5"}': ("body.price", "price is DOUBLE and takes a number"),
    '{"word":"w","is_new":1}': ("body.is_new", "takes true or false"),
    '{"word":"w","at":"2026-11-24T12:00:00"}': ("body.at", "takes a time as 2026"),
    '{"word":"w","at":"0001-01-01T00:00:00+03:00"}': ("body.at", "in the years 1 to 9999"),
    '{"word":"w","at":0}': ("body.at", "takes a time as 2026"),
    '{"word":"w","place":{"latitude":91,"longitude":0}}': ("body.place", "takes an object with a latitude"),
    '{"word":"w","place":{"latitude":1,"longitude":0,"height":1}}': ("body.place", "takes an object with a latitude"),
    '{"word":"w","words":[]}': ("body.words", "has 0 values"),
    '{"word":"w","words":"one"}': ("body.words", "takes a list of 1 to 1024 values"),
    '{"word":["w"]}': ("body.word", "takes one value: it is not repeated"),
    '{"word":"w","words":["a",5]}': ("body.words[1]", "words is STRING and takes a string, not 5"),
    f'{{"word":"w","numbers":{[1] * 1025}}}': ("body.numbers", "has 1025 values"),
}


@pytest.mark.parametrize("body", _WRONG, ids=[f"{n}" for n in range(len(_WRONG))])
def test_a_body_that_does_not_fit_is_refused_in_words(body: str) -> None:
    assert CODEC.normalize(body) is None
    [fault] = CODEC.faults(body)
    path, words = _WRONG[body]
    assert fault.path == path
    assert words in fault.text


@given(BODIES)
def test_what_fits_has_no_faults(values: dict[str, Any]) -> None:
    assert CODEC.faults(encode_body(values)) == []


def test_a_reader_of_an_older_schema_leaves_out_what_it_does_not_know() -> None:
    body = '{"word":"w","later":5}'
    assert CODEC.read(body) == {"word": "w"}
    assert CODEC.select(body, frozenset({"word"})) == '{"later":5}'


def test_a_reader_refuses_what_would_kill_a_writer_of_the_index() -> None:
    with pytest.raises(msgspec.DecodeError):
        CODEC.read('{"word":5}')


def test_fields_outside_the_schema_are_kept() -> None:
    [word] = CODEC.fields_of('{"word":"w"}')
    fields = [word, Field(name="later", values=[Value(string_value="a")])]
    assert CODEC.body_of(fields) == '{"word":"w","later":"a"}'
