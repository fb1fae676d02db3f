"""The largest requests of methods, built from their descriptors and the rules in their protos."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from buf.validate import validate_pb2

_UUID: Final = "0" * 8 + "-0000-4000-8000-" + "0" * 12
_SAMPLES: Final = (
    "offers",
    _UUID,
    "sellers/s",
    "sellers/s/feeds/default",
    "sellers/s/feeds/default/tasks/1",
    "sellers/s/feeds/default/fetches/1",
    "sellers/s/feeds/default/offers/a",
    f"uploads/{_UUID}",
    f"points/{_UUID}",
    "jobs/1",
    "0" * 64,
    "USD",
)
_LENGTHS: Final = (1 << 20, 200_000, 50_000, 10_000, 2_000, 1_000, 500, 200, 100, 50, 20, 5, 1)
_SHARES: Final = (1.0, 0.3, 0.1, 0.0)
_UNLIMITED_ITEMS: Final = 1_000
_DEEPEST: Final = 5
Text = Callable[[int], str]


def largest_requests(
    descriptor: Descriptor, limit_bytes: int, *, text: Text, values: Mapping[str, Any]
) -> Iterator[tuple[str, Message]]:
    """Yield requests as large as the rules and the limit allow: with all items, or with fewer items and longer texts.

    Args:
        descriptor: descriptor of the request.
        limit_bytes: largest serialized size.
        text: function that returns a text of a given length.
        values: values of fields by name, where the service accepts only certain ones.
    """
    seen: set[bytes] = set()
    for share in _SHARES:
        for chars in _LENGTHS:
            request = GetMessageClass(descriptor)()
            _Filling(share, chars, text, values, limit_bytes).fill(request)
            if (size := request.ByteSize()) <= limit_bytes:
                if (sent := request.SerializeToString()) not in seen and size:
                    seen.add(sent)
                    yield f"{share:.0%} of items, {chars} characters", request
                break


def requests_of_tiny_items(descriptor: Descriptor, limit_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield, for each list in a request, the largest request with only empty items in this list."""
    for path in _lists(descriptor, ()):
        field = path[-1]
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_MESSAGE):
            item = _tag(field) + b"\0"
            sent = item * ((limit_bytes - 64) // len(item))
        else:
            sent = _delimited(field, bytes(limit_bytes - 64))
        for above in reversed(path[:-1]):
            sent = _delimited(above, sent)
        yield ".".join(each.name for each in path), sent


def _delimited(field: FieldDescriptor, content: bytes) -> bytes:
    return _tag(field) + _varint(len(content)) + content


def _tag(field: FieldDescriptor) -> bytes:
    return _varint(field.number << 3 | 2)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes((*found, value))


def _lists(descriptor: Descriptor, above: tuple[FieldDescriptor, ...]) -> Iterator[tuple[FieldDescriptor, ...]]:
    for field in descriptor.fields:
        path = (*above, field)
        if field.is_repeated:
            yield path
        inner = field.message_type
        if inner is not None and len(path) < _DEEPEST and inner not in [each.message_type for each in above]:
            yield from _lists(inner, path)


class _Filling:
    """Fills a message with a share of the allowed items of its lists, and texts of a given length."""

    def __init__(self, share: float, chars: int, text: Text, values: Mapping[str, Any], limit_bytes: int) -> None:
        self._share = share
        self._chars = chars
        self._text = text
        self._values = values
        self._limit_bytes = limit_bytes

    def fill(self, message: Any, depth: int = 0) -> None:
        for field in message.DESCRIPTOR.fields:
            rules: Any = field.GetOptions().Extensions[validate_pb2.field]
            if field.name in self._values:
                self._put(message, field, self._values[field.name])
            elif field.message_type is not None and field.message_type.GetOptions().map_entry:
                continue
            elif field.is_repeated:
                self._fill_list(getattr(message, field.name), field, rules.repeated, depth)
            elif field.message_type is not None:
                if depth < _DEEPEST and not field.message_type.full_name.startswith("google.protobuf."):
                    getattr(message, field.name).SetInParent()
                    self.fill(getattr(message, field.name), depth + 1)
            else:
                setattr(message, field.name, self._scalar(field, rules, 0))

    @staticmethod
    def _put(message: Any, field: FieldDescriptor, value: Any) -> None:
        if field.is_repeated:
            getattr(message, field.name).extend(value)
        elif field.message_type is not None:
            getattr(message, field.name).CopyFrom(value)
        else:
            setattr(message, field.name, value)

    def _fill_list(self, items: Any, field: FieldDescriptor, rules: Any, depth: int) -> None:
        most = rules.max_items if rules.HasField("max_items") else _UNLIMITED_ITEMS
        count = max(int(most * self._share), 1)
        if field.message_type is None:
            items.extend(self._scalar(field, rules.items, number) for number in range(count))
            return
        if depth >= _DEEPEST:
            return
        first = items.add()
        self.fill(first, depth + 1)
        # A request that is too large anyway need not be built completely.
        for _ in range(min(count - 1, 2 * self._limit_bytes // max(first.ByteSize(), 1))):
            items.add().CopyFrom(first)

    def _scalar(self, field: FieldDescriptor, rules: Any, number: int) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            return self._string(rules.string, number)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return bytes(rules.bytes.len or min(rules.bytes.max_len or self._chars, self._chars))
        if field.type == FieldDescriptor.TYPE_BOOL:
            return False
        if field.enum_type is not None:
            only = getattr(rules.enum, "in")
            return max(only or {each.number for each in field.enum_type.values}.difference(rules.enum.not_in))
        limits = getattr(rules, rules.WhichOneof("type") or "int32")
        return limits.lte or limits.lt - 1 if limits.lte or limits.lt else max(limits.gte, 1)

    def _string(self, rules: Any, number: int) -> str:
        if rules.pattern:
            return next((each for each in _SAMPLES if re.search(rules.pattern, each)), "")
        if rules.uuid:
            return _UUID
        chars = min(rules.max_len, self._chars) if rules.HasField("max_len") else self._chars
        text = self._text(max(chars, 1))
        return f"{text[:-4]}{number:04}" if len(text) > 8 else str(number)[: max(chars, 1)]
