"""Consume pictures.results.v1: record stored and failed pictures, and report failed ones to the loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError

from classifeed.pictures.v1.requests_pb2 import PictureResults
from classifeed_common.db import Tx
from classifeed_common.kafka import Poison, Record, decode_all, message_of, type_of
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import FEEDS_OFFER_RESULTS
from classifeed_offers.app.pictures.keep_pictures import keep_pictures

GROUP: Final = "offers-pictures"
_TYPE: Final = PictureResults.DESCRIPTOR.full_name


class PictureHandler:
    """Handles polls of results for an OrderedConsumer over the positions of a table.

    Args:
        outbox: sends failures to the loads.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Apply the results of a poll.

        Raises:
            Poison: a record carries no results, or breaks the protocol.
        """
        results = decode_all(records, decode_results)
        late = await keep_pictures(tx, results)
        messages = [message_of(FEEDS_OFFER_RESULTS, result.seller_id.encode(), result) for result in late]
        await self._outbox.put(tx, messages)


def decode_results(record: Record) -> PictureResults:
    """Return the results that a record carries, checked.

    Raises:
        Poison: the record carries no results, or breaks the protocol; the reason names the place.
    """
    if type_of(record) != _TYPE:
        raise Poison(record, f"is not a result about pictures, but {type_of(record) or 'of no type'}")
    try:
        results = PictureResults.FromString(record.value)
    except DecodeError as error:
        raise Poison(record, f"cannot be read as {_TYPE}: {error}") from error
    if record.key != results.recipient.encode():
        raise Poison(record, "recipient is not the key of the message")
    for number, result in enumerate(results.results):
        if result.WhichOneof("result") is None:
            raise Poison(record, f"results[{number}] has neither a picture nor a failure")
    return results
