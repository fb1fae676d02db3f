"""Send messages: return once all are acknowledged, a piece at a time, so that others run between."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Protocol

from classifeed_common.kafka import Message

_PIECE: Final = 1000
# Less than a transaction may be idle: an effect that waits for Kafka is to fail by itself, with Kafka's words.
_LIMIT_S: Final = 20.0
_LEAST_S: Final = 0.001


class Sender(Protocol):
    """What is needed of a KafkaProducer."""

    async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
        """See `KafkaProducer`."""


async def send_messages(producer: Sender, messages: Sequence[Message]) -> None:
    """Return once all messages are acknowledged; those of one partition arrive in their order.

    At least once: after a failure some may have arrived, or may yet.

    Raises:
        Unavailable: not within 20 s.
        InvalidArgument: a message is larger than Kafka takes.
    """
    until_s = time.monotonic() + _LIMIT_S
    for begin in range(0, len(messages), _PIECE):
        await producer.send(messages[begin : begin + _PIECE], limit_s=max(until_s - time.monotonic(), _LEAST_S))
