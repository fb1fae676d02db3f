"""When the thing changed that a document is about."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed_domain.offer_names import CHANGE_TIME_FIELD

_COMPOSED_WITHIN_S: Final = timedelta(hours=1).total_seconds()


def changed_at_s(document: IndexDocument) -> float | None:
    """Return it in seconds of the epoch, to the microsecond; None where the document does not say, or is no news.

    A document that was composed long after the change was pushed again for a repair, so it tells nothing of how fast
    changes come.
    """
    for field in document.fields:
        if field.name == CHANGE_TIME_FIELD:
            changed_s = field.values[0].timestamp_value.ToMicroseconds() / 1e6
            is_news = document.timestamp.ToMicroseconds() / 1e6 - changed_s <= _COMPOSED_WITHIN_S
            return changed_s if is_news else None
    return None
