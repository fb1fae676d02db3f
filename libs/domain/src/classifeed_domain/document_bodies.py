"""Bodies of documents: the fields as a JSON object, read and written by the schema of their epoch.

A reader decodes and checks a body in one step. This is about ten times faster than messages of fields (ADR 0065).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType

from classifeed.documents.v1.document_pb2 import Field, LatLng, Value
from classifeed.documents.v1.schema_pb2 import FieldSchema, FieldType, Schema
from classifeed_domain.document_values import VALUE_KINDS

VALUES_LIMIT: Final = 1024


class GeoPoint(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A point on Earth, WGS 84."""

    latitude: Annotated[float, Meta(ge=-90, le=90)]
    longitude: Annotated[float, Meta(ge=-180, le=180)]


_TYPES: Final[Mapping[int, Any]] = {
    FieldType.FIELD_TYPE_STRING: str,
    FieldType.FIELD_TYPE_TEXT: str,
    FieldType.FIELD_TYPE_INT: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
    FieldType.FIELD_TYPE_DOUBLE: float,
    FieldType.FIELD_TYPE_BOOL: bool,
    FieldType.FIELD_TYPE_TIMESTAMP: Annotated[datetime, Meta(tz=True)],
    FieldType.FIELD_TYPE_GEO_POINT: GeoPoint,
}
_TAKEN: Final[Mapping[int, str]] = {
    FieldType.FIELD_TYPE_STRING: "a string",
    FieldType.FIELD_TYPE_TEXT: "a string",
    FieldType.FIELD_TYPE_INT: "an integer of 64 bits",
    FieldType.FIELD_TYPE_DOUBLE: "a number",
    FieldType.FIELD_TYPE_BOOL: "true or false",
    FieldType.FIELD_TYPE_TIMESTAMP: "a time as 2026-11-24T12:00:00Z, in the years 1 to 9999",
    FieldType.FIELD_TYPE_GEO_POINT: "an object with a latitude of -90 to 90 and a longitude of -180 to 180 degrees",
}


@dataclass(frozen=True, slots=True)
class BodyFault:
    """An error in a body.

    Attributes:
        path: Path of the field, such as `body.price`.
        text: Explanation for people.
    """

    path: str
    text: str


class BodyCodec:
    """Reads and writes the bodies of one schema.

    Args:
        schema: Schema of the documents' epoch.
    """

    def __init__(self, schema: Schema) -> None:
        self._epoch = schema.epoch
        self._fields = {field.name: field for field in schema.fields}
        self._strict = msgspec.json.Decoder(_struct_of(schema.fields))
        self._lenient = msgspec.json.Decoder(_mapping_of(schema.fields))
        self._encoder = msgspec.json.Encoder()
        self._times = [field.name for field in schema.fields if field.type == FieldType.FIELD_TYPE_TIMESTAMP]

    def normalize(self, body: str) -> str | None:
        """Return a body in canonical form: names in the schema's order, no blanks, times in UTC.

        Returns:
            None if the body does not fit the schema; `faults` says why.
        """
        try:
            checked = self._strict.decode(body)
            for name in self._times:
                if (moment := getattr(checked, name)) is not UNSET:
                    setattr(checked, name, _in_utc(moment))
        except (msgspec.DecodeError, RecursionError, OverflowError):
            return None
        text = self._encoder.encode(checked).decode()
        is_empty = text == "{}"
        return None if is_empty or (_NUL in text and _has_nul(msgspec.json.decode(text))) else text

    def fits(self, body: str) -> bool:
        """Return whether a body fits the schema."""
        try:
            self._strict.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return False
        return True

    def faults(self, body: str) -> list[BodyFault]:
        """Return the errors of a body; [] if it fits the schema."""
        try:
            values = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            return [BodyFault("body", f"is no JSON: {error}")]
        if not isinstance(values, dict):
            return [BodyFault("body", "must be a JSON object, its members named as the schema's fields")]
        if not values:
            return [BodyFault("body", "must have at least one field for UPSERT")]
        return list(self._faults_of(values))

    def read(self, body: str) -> dict[str, Any]:
        """Return the values by name, typed as the schema says: timestamps as datetimes, points as GeoPoint.

        Names that are not in the schema are skipped: they were added to the epoch later.

        Raises:
            msgspec.DecodeError: A value does not have the type of its field.
        """
        values: dict[str, Any] = self._lenient.decode(body)
        return values

    def fields_of(self, body: str) -> list[Field]:
        """Return a body as messages of fields.

        Raises:
            msgspec.DecodeError: A value does not have the type of its field.
        """
        return [Field(name=name, values=list(self._messages(name, value))) for name, value in self.read(body).items()]

    def body_of(self, fields: Sequence[Field]) -> str:
        """Return messages of fields, which fit the schema, as a body. Names that are not in the schema are kept."""
        values: dict[str, Any] = {}
        for field in fields:
            found = [native_value(value) for value in field.values]
            schema = self._fields.get(field.name)
            is_single = not schema.repeated if schema is not None else len(found) == 1
            values[field.name] = found[0] if is_single else found
        ordered = {name: values.pop(name) for name in self._fields if name in values}
        return self._encoder.encode({**ordered, **values}).decode()

    def select(self, body: str, names: frozenset[str]) -> str:
        """Return a body without the fields in `names`. Fields that are not in the schema are kept."""
        values: dict[str, msgspec.Raw] = _RAW.decode(body)
        return self._encoder.encode({name: value for name, value in values.items() if name not in names}).decode()

    def _messages(self, name: str, value: Any) -> Iterator[Value]:
        schema = self._fields[name]
        for each in value if schema.repeated else [value]:
            yield _message_of(schema, each)

    def _faults_of(self, values: Mapping[str, Any]) -> Iterator[BodyFault]:
        for name, value in values.items():
            schema = self._fields.get(name)
            if schema is None:
                yield BodyFault(f"body.{name}", f"{name!r} is not a field of epoch {self._epoch}")
            else:
                yield from _value_faults(schema, value)
        if missing := sorted(each.name for each in self._fields.values() if each.required and each.name not in values):
            text = f"{', '.join(missing)}: required in epoch {self._epoch} and missing"
            yield BodyFault("body", text)


_NUL: Final = r"\u0000"
_RAW: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def native_value(value: Value) -> Any:
    """Return the Python value of a message, typed as in a body; None if no value is set."""
    kind = value.WhichOneof("kind")
    if kind == "timestamp_value":
        return value.timestamp_value.ToDatetime(tzinfo=UTC)
    if kind == "geo_value":
        return GeoPoint(value.geo_value.latitude, value.geo_value.longitude)
    return getattr(value, kind) if kind else None


def encode_body(values: Mapping[str, Any]) -> str:
    """Return values by name as a body: strings, numbers, booleans, datetimes with a time zone, GeoPoints, lists."""
    return msgspec.json.encode(values).decode()


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_nul, values))


def _in_utc(value: Any) -> Any:
    return [_in_utc(each) for each in value] if isinstance(value, list) else value.astimezone(UTC)


def _type_of(field: FieldSchema) -> Any:
    single = _TYPES[field.type]
    several = list[single]  # type: ignore[valid-type]
    return Annotated[several, Meta(min_length=1, max_length=VALUES_LIMIT)] if field.repeated else single


def _struct_of(fields: Sequence[FieldSchema]) -> Any:
    parts: list[Any] = [
        (field.name, _type_of(field)) if field.required else (field.name, _type_of(field) | UnsetType, UNSET)
        for field in fields
    ]
    return msgspec.defstruct("Body", parts, kw_only=True, forbid_unknown_fields=True, gc=False)


def _mapping_of(fields: Sequence[FieldSchema]) -> Any:
    return TypedDict("Body", {field.name: _type_of(field) for field in fields}, total=False)  # type: ignore[operator]


def _value_faults(schema: FieldSchema, value: Any) -> Iterator[BodyFault]:
    path, kind = f"body.{schema.name}", FieldType.Name(schema.type).removeprefix("FIELD_TYPE_")
    if isinstance(value, list) is not schema.repeated:
        count = "a list of 1 to 1024 values" if schema.repeated else "one value: it is not repeated"
        yield BodyFault(path, f"{schema.name} takes {count}")
        return
    if schema.repeated and not 1 <= len(value) <= VALUES_LIMIT:
        yield BodyFault(path, f"{schema.name} has {len(value)} values, allowed are 1 to {VALUES_LIMIT}")
    for number, each in enumerate(value if schema.repeated else [value]):
        at = f"{path}[{number}]" if schema.repeated else path
        try:
            converted = msgspec.convert(each, _TYPES[schema.type])
            if isinstance(converted, datetime):
                _in_utc(converted)
            if _has_nul(each):
                yield BodyFault(at, f"{schema.name} has a character with the number 0; leave it out")
        except (msgspec.ValidationError, OverflowError):
            text = f"{schema.name} is {kind} and takes {_TAKEN[schema.type]}, not {_shown(each)}"
            yield BodyFault(at, text)


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:40]}…"


def _message_of(schema: FieldSchema, value: Any) -> Value:
    kind = VALUE_KINDS[schema.type]
    match kind:
        case "timestamp_value":
            message = Value()
            message.timestamp_value.FromDatetime(value)
            return message
        case "geo_value":
            return Value(geo_value=LatLng(latitude=value.latitude, longitude=value.longitude))
        case _:
            return Value(**{kind: value})
