"""Requests of moderation.requests.v1: texts of offers are stored, and known outcomes put into the outbox again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from classifeed_common.db import Tx
from classifeed_common.kafka import Record, decode_all
from classifeed_common.outbox import Outbox
from classifeed_moderation.app.decisions.apply_verdicts import Rules
from classifeed_moderation.app.judging.take_offer_texts import take_offer_texts
from classifeed_moderation.consumers.decode import decode_texts

GROUP: Final = "moderation"


class RequestHandler:
    """Handles polls of requests, for an OrderedConsumer over the positions of a table."""

    def __init__(self, outbox: Outbox, *, current_rules: Callable[[], Rules]) -> None:
        self._outbox = outbox
        self._current_rules = current_rules

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Store the texts of a poll.

        Raises:
            Poison: a record has no texts, or breaks the protocol.
        """
        sent = decode_all(records, decode_texts)
        await take_offer_texts(tx, sent, rules=self._current_rules(), outbox=self._outbox)
