"""Consume moderation.outcomes.v1: apply verdicts about texts, and report them to the loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError

from classifeed.moderation.v1.offer_texts_pb2 import TextsJudged
from classifeed.moderation.v1.subject_pb2 import MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED
from classifeed_common.db import Tx
from classifeed_common.kafka import Poison, Record, decode_all, message_of, type_of
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import FEEDS_OFFER_RESULTS
from classifeed_offers.app.texts.check_decisions import StartReturn, note_decisions
from classifeed_offers.app.texts.judge_texts import apply_outcomes
from classifeed_offers.domain.offers import HASH_BYTES

GROUP: Final = "offers-verdicts"
_TYPE: Final = TextsJudged.DESCRIPTOR.full_name
_STATUSES: Final = {MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED}


class OutcomeHandler:
    """Handles polls of outcomes for an OrderedConsumer over the positions of a table.

    Args:
        outbox: sends corrections to the loads.
        start_return: starts the return of decisions to a moderation that lost them.
    """

    def __init__(self, outbox: Outbox, *, start_return: StartReturn) -> None:
        self._outbox = outbox
        self._start_return = start_return

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Apply the outcomes of a poll.

        Raises:
            Poison: a record carries no outcomes, or breaks the protocol.
        """
        judged = decode_all(records, decode_outcomes)
        late = await apply_outcomes(tx, judged)
        partitions = [record.partition for record in records]
        await note_decisions(tx, judged, partitions, start_return=self._start_return)
        messages = [message_of(FEEDS_OFFER_RESULTS, result.seller_id.encode(), result) for result in late]
        await self._outbox.put(tx, messages)


def decode_outcomes(record: Record) -> TextsJudged:
    """Return the outcomes that a record carries, checked.

    Raises:
        Poison: the record carries no outcomes, or breaks the protocol; the reason names the place.
    """
    if type_of(record) != _TYPE:
        raise Poison(record, f"is not an outcome, but {type_of(record) or 'of no type'}")
    try:
        judged = TextsJudged.FromString(record.value)
    except DecodeError as error:
        raise Poison(record, f"cannot be read as {_TYPE}: {error}") from error
    if record.key != judged.seller_id.encode():
        raise Poison(record, "seller_id is not the key of the message")
    for number, text in enumerate(judged.texts):
        if text.status not in _STATUSES or len(text.text_hash) != HASH_BYTES:
            raise Poison(record, f"texts[{number}] has no status or no hash of a text")
    return judged
