"""Conversion of protobuf messages to JSON: snake_case names, int64 as strings, enum names without prefix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message


def document_of(message: Message) -> dict[str, Any]:
    """Return the JSON document of a message; unset fields have their default."""
    document: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return _stripped(document, message.DESCRIPTOR)


def enum_label(enum: EnumDescriptor, number: int) -> str:
    """Return the name of an enum value without the prefix of the enum's name."""
    value = enum.values_by_number.get(number)
    return value.name.removeprefix(_prefix(enum)) if value else str(number)


def _prefix(enum: EnumDescriptor) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", enum.name).upper() + "_"


def _stripped(document: Mapping[str, Any], descriptor: Any) -> dict[str, Any]:
    return {name: _value(value, descriptor.fields_by_name[name]) for name, value in document.items()}


def _value(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return {key: _single(each, field.message_type.fields_by_name["value"]) for key, each in value.items()}
    if isinstance(value, list):
        return [_single(each, field) for each in value]
    return _single(value, field)


def _single(value: Any, field: FieldDescriptor) -> Any:
    if field.enum_type is not None and isinstance(value, str):
        return value.removeprefix(_prefix(field.enum_type))
    message = field.message_type
    if message is not None and isinstance(value, dict) and not message.full_name.startswith("google.protobuf."):
        return _stripped(value, message)
    return value
