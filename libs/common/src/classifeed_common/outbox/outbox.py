"""Outbox: messages to Kafka, written in the transaction of what they report, so that both hold or neither does."""

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
    """Takes messages in a transaction; a `Relay` of the same database sends them after the commit.

    The order of a key is the order of commits only if the caller holds the row lock of the key's entity when it calls
    `put`: the ids are drawn in `put`, so a later owner of the lock draws later ones.
    """

    def __init__(self) -> None:
        self._arrivals: dict[int, asyncio.Event] = {}

    async def put(self, tx: Tx, messages: Sequence[Message], *, shard: int = 0) -> None:
        """Add messages, to be sent in this order once `tx` has committed, at least once each.

        Call it after the row locks of the entities whose keys the messages bear. A key always goes to one shard.
        Messages made by `message_of` carry the trace of the moment they were made in.

        Raises:
            InvalidArgument: a message is larger than Kafka takes; nothing was added.
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
        """Return the event that `wake` sets; for the relay of that shard."""
        return self._arrivals.setdefault(shard, asyncio.Event())


def _headers_text(message: Message) -> str:
    # Latin-1 maps each byte to one character and back; most headers are plain text and stay readable in the table.
    return json.dumps({name: value.decode("latin-1") for name, value in message.headers.items()})
