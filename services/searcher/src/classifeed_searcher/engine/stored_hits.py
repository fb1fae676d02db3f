"""Hits stored in the index: serialized once, when their document is indexed, and sent to callers as they are."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from classifeed.search.v1.search_service_pb2 import Hit, SearchResponse
from classifeed_domain.document_bodies import BodyCodec

_HITS: Final = SearchResponse.DESCRIPTOR.fields_by_name["hits"].number
_SCORE: Final = Hit.DESCRIPTOR.fields_by_name["score"].number
_FIELDS: Final = Hit.DESCRIPTOR.fields_by_name["fields"].number
_FIXED64, _LENGTH_DELIMITED = 1, 2  # wire types of protobuf
_HIT_TAG: Final = bytes([_HITS << 3 | _LENGTH_DELIMITED])
_encode_score: Final = struct.Struct("<Bd").pack


class StoredHits:
    """Converts the stored hits of one index for responses.

    Args:
        codec: codec of the document bodies.
    """

    def __init__(self, codec: BodyCodec) -> None:
        self._codec = codec

    def show(self, hit: Hit, *, is_body: bool) -> Hit:
        """Return a hit with its body or with fields, as requested; it may be stored with either."""
        if is_body:
            if hit.fields:
                hit.body = self._codec.body_of(hit.fields)
                hit.ClearField("fields")
        elif hit.body:  # checked only if needed, because the access decodes the whole body
            hit.fields.extend(self._codec.fields_of(hit.body))
            hit.ClearField("body")
        return hit

    def encode(self, stored: bytes, score: float, *, is_body: bool) -> bytes:
        """Return a serialized hit, as of `show`, with a score; one that was stored with its body is not decoded."""
        if not is_body or _Outline.FromString(stored).fields:
            stored = self.show(Hit.FromString(stored), is_body=is_body).SerializeToString()
        # In protobuf the last value of a field wins; stored hits have no score.
        return stored + _encode_score(_SCORE << 3 | _FIXED64, score) if score else stored


def encode_response(hits: Iterable[bytes], rest: SearchResponse) -> bytes:
    """Return a serialized response: concatenated parts of a protobuf message are that message."""
    pieces: list[bytes] = []
    for hit in hits:
        pieces += (_HIT_TAG, _encode_length(len(hit)), hit)
    pieces.append(rest.SerializeToString())
    return b"".join(pieces)


def _encode_length(length: int) -> bytes:
    """Return a varint: seven bits per byte, the lowest first."""
    found = bytearray()
    while length > 0x7F:
        found.append(length & 0x7F | 0x80)
        length >>= 7
    found.append(length)
    return bytes(found)


def _make_outline() -> Any:
    """Return a message class that only has the fields of a Hit, as bytes.

    It checks whether a Hit has fields in a third of the time of a full decode.
    """
    repeated, kind = FieldDescriptorProto.LABEL_REPEATED, FieldDescriptorProto.TYPE_BYTES
    fields = FieldDescriptorProto(name="fields", number=_FIELDS, label=repeated, type=kind)
    message = DescriptorProto(name="Outline", field=[fields])
    pool = DescriptorPool()
    pool.Add(FileDescriptorProto(name="outline.proto", package="outline", syntax="proto3", message_type=[message]))
    return GetMessageClass(pool.FindMessageTypeByName("outline.Outline"))


_Outline: Final = _make_outline()
