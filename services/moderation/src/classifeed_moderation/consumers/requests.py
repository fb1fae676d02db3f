"""Consume moderation.requests.v1: store texts of offers, and put known outcomes into the outbox again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx
from classifeed_common.kafka import Record, decode_all
from classifeed_moderation.app.judging.take_offer_texts import TakeOfferTexts
from classifeed_moderation.consumers.decode import decode_texts

GROUP: Final = "moderation"


async def handle_requests(take_offer_texts: TakeOfferTexts, tx: Tx, records: Sequence[Record]) -> None:
    """Store the texts of a poll.

    Raises:
        Poison: a record has no texts, or breaks the protocol.
    """
    await take_offer_texts(tx, decode_all(records, decode_texts))
