"""Outbox: messages to Kafka, written in the transaction that they report, so that both commit or neither does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.kafka.producer import check_size
from classifeed_common.kafka.records import Message

_PUT: Final = load_queries("classifeed_common.outbox")["put_messages"]


class Outbox:
    """Accepts messages in a transaction; a `Relay` of the same database sends them after the commit.

    `put` draws the ids of messages. So the messages of a key have the order of their commits only if the caller holds a
    row lock of the key's entity when it calls `put`.
    """

    def __init__(self) -> None:
        self._arrivals: dict[int, asyncio.Event] = {}

    async def put(self, tx: Tx, messages: Sequence[Message], *, shard: int = 0) -> None:
        """Add messages, which are sent in this order once `tx` has committed, each at least once.

        Lock the rows of the keys' entities first. A key must always use the same shard. Messages of `message_of` carry
        the trace of their creation.

        Raises:
            InvalidArgument: a message is larger than Kafka accepts; nothing was added.
        """
        if not messages:
            return
        for message in messages:
            check_size(message)
        await tx.execute(
            _PUT,
            {
                "shard": shard,
                "topics": [message.topic for message in messages],
                "partitions": [message.partition for message in messages],
                "keys": [message.key for message in messages],
                "values": [message.value for message in messages],
                "headers": [_headers_text(message) for message in messages],
            },
        )

    def wake(self, shard: int = 0) -> None:
        """Notify a relay of this process that a transaction with messages has committed. Optional: relays also poll."""
        self.arrival(shard).set()

    def arrival(self, shard: int) -> asyncio.Event:
        """Return the event that `wake` sets, for the shard's relay."""
        return self._arrivals.setdefault(shard, asyncio.Event())


def _headers_text(message: Message) -> str:
    # Latin-1 maps each byte to one character and back; most headers are text and stay readable in the table.
    return json.dumps({name: value.decode("latin-1") for name, value in message.headers.items()})
