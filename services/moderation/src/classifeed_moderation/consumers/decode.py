"""Decode a Kafka record into checked texts of offers."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError

from classifeed.moderation.v1.offer_texts_pb2 import TextsToJudge
from classifeed.moderation.v1.subject_pb2 import MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED
from classifeed_common.kafka import Poison, Record, type_of
from classifeed_moderation.domain.subjects import HASH_BYTES

_TYPE: Final = TextsToJudge.DESCRIPTOR.full_name
_TEXTS_LIMIT: Final = 100
_ID_LIMIT_CHARS: Final = 256
_ADDRESS_LIMIT_CHARS: Final = 64
_REGIONS_LIMIT: Final = 20
_DECIDED: Final = (MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED)


def decode_texts(record: Record) -> TextsToJudge:
    """Return the texts that a record carries, checked.

    Raises:
        Poison: the record has no texts, or breaks the protocol; the reason names the place.
    """
    if type_of(record) != _TYPE:
        raise Poison(record, f"is not a request, but {type_of(record) or 'of no type'}")
    try:
        texts = TextsToJudge.FromString(record.value)
    except DecodeError as error:
        raise Poison(record, f"cannot be read as {_TYPE}: {error}") from error
    if (fault := fault_of_texts(texts)) is None and record.key != texts.seller_id.encode():
        fault = "seller_id is not the key of the message"
    if fault is not None:
        raise Poison(record, fault)
    return texts


def fault_of_texts(message: TextsToJudge) -> str | None:
    """Return what is wrong with texts of offers, or None."""
    for field in ("seller_id", "namespace"):
        value = getattr(message, field)
        if not 0 < len(value) <= _ADDRESS_LIMIT_CHARS or "\0" in value:
            return f"{field} must have 1 to {_ADDRESS_LIMIT_CHARS} characters, none of them NUL"
    for field in ("texts", "removed"):
        if (count := len(getattr(message, field))) > _TEXTS_LIMIT:
            return f"{field} has {count} items; {_TEXTS_LIMIT} are allowed"
    for number, removed in enumerate(message.removed):
        if not 0 < len(removed.external_id) <= _ID_LIMIT_CHARS or "\0" in removed.external_id:
            return f"removed[{number}].external_id must have 1 to {_ID_LIMIT_CHARS} characters, none of them NUL"
    for number, text in enumerate(message.texts):
        if not 0 < len(text.external_id) <= _ID_LIMIT_CHARS:
            return f"texts[{number}].external_id must have 1 to {_ID_LIMIT_CHARS} characters"
        if len(text.text_hash) != HASH_BYTES:
            return f"texts[{number}].text_hash must have {HASH_BYTES} bytes"
        if "\0" in text.external_id + text.title + text.description:
            return f"texts[{number}] has a NUL in its id or its text"
        if len(text.region_ids) > _REGIONS_LIMIT:
            return f"texts[{number}].region_ids has more than {_REGIONS_LIMIT} items"
        if text.HasField("kept_decision") and text.kept_decision.status not in _DECIDED:
            return f"texts[{number}].kept_decision.status must be APPROVED or DISAPPROVED"
    return None
