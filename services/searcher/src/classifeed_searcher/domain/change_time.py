"""Time of the change that a document reports."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed_domain.offer_names import CHANGE_TIME_FIELD

_BODY: Final = msgspec.json.Decoder(msgspec.defstruct("_Changed", [(CHANGE_TIME_FIELD, datetime | None, None)]))
_COMPOSED_WITHIN_S: Final = timedelta(hours=1).total_seconds()


def changed_at_s(document: IndexDocument) -> float | None:
    """Return the time of a document's change in Unix seconds; None if it has none, or is a repair.

    A document that was composed long after the change was pushed again for a repair, so its latency is meaningless.
    """
    changed_s = _read_s(document)
    if changed_s is None or document.timestamp.ToMicroseconds() / 1e6 - changed_s > _COMPOSED_WITHIN_S:
        return None
    return changed_s


def _read_s(document: IndexDocument) -> float | None:
    if document.body:
        try:
            changed = getattr(_BODY.decode(document.body), CHANGE_TIME_FIELD)
        except msgspec.DecodeError:
            return None  # another client's field of this name may be anything
        return None if changed is None else changed.timestamp()
    for field in document.fields:
        if field.name == CHANGE_TIME_FIELD:
            return field.values[0].timestamp_value.ToMicroseconds() / 1e6
    return None
