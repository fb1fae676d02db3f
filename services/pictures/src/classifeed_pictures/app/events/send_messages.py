"""Sends messages in batches and waits for their acknowledgement; other tasks run in between."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Protocol

from classifeed_common.kafka import Message

_PIECE: Final = 1000
# Shorter than the idle timeout of transactions, so that a slow Kafka fails the effect with Kafka's message.
_LIMIT_S: Final = 20.0
_LEAST_S: Final = 0.001


class Sender(Protocol):
    """The part of KafkaProducer that is needed here."""

    async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
        """See `KafkaProducer`."""


async def send_messages(producer: Sender, messages: Sequence[Message]) -> None:
    """Return once all messages are acknowledged; messages of one partition arrive in order.

    Delivery is at least once: after a failure some messages may have arrived, or may still arrive.

    Raises:
        Unavailable: they were not acknowledged within 20 s.
        InvalidArgument: a message is larger than Kafka accepts.
    """
    until_s = time.monotonic() + _LIMIT_S
    for begin in range(0, len(messages), _PIECE):
        await producer.send(messages[begin : begin + _PIECE], limit_s=max(until_s - time.monotonic(), _LEAST_S))
