"""Dead letters: a record with a lasting fault goes to `<topic>.dlq` with the reason, and its partition moves on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from classifeed_common.errors import Unavailable
from classifeed_common.kafka.producer import KafkaProducer
from classifeed_common.kafka.records import MAX_MESSAGE_BYTES, Message, Record
from classifeed_common.kafka.topics.topics import dlq

R = TypeVar("R")

REASON_HEADER: Final = "dlq-reason"
GROUP_HEADER: Final = "dlq-group"
TOPIC_HEADER: Final = "dlq-topic"
PARTITION_HEADER: Final = "dlq-partition"
OFFSET_HEADER: Final = "dlq-offset"
CUT_HEADER: Final = "dlq-cut"
"""Names the parts that did not fit, each with its whole size in bytes; the record is still whole where it came from."""

_REASON_LIMIT_CHARS: Final = 2000
_SHOWN_CHARS: Final = 200
_PUT_LIMIT_S: Final = 15.0
_KEY_LIMIT_BYTES: Final = 16 * 1024
_HEADERS_LIMIT_BYTES: Final = 16 * 1024


class Poison(Exception):
    """Raised by a handler for a deterministic fault of one record: trying again would end the same way.

    Passing faults (a database away, a lock not had) are any other exception: those are retried for ever.

    Attributes:
        record: The record.
        reason: What is wrong with it, in words.
        others: Further records of the same call with such a fault, each with its reason: found at once, they cost one
            attempt instead of one each.
    """

    def __init__(self, record: Record, reason: str, others: Sequence[tuple[Record, str]] = ()) -> None:
        super().__init__(f"{record.topic}[{record.partition}] offset {record.offset}: {reason}")
        self.record = record
        self.reason = reason
        self.others = tuple(others)


def decode_all(records: Sequence[Record], decode: Callable[[Record], R]) -> list[R]:
    """Return what `decode` makes of each record, in their order.

    Raises:
        Poison: `decode` raised it for some of them; it names all of those at once.
    """
    decoded: list[R] = []
    faults: list[Poison] = []
    for record in records:
        try:
            decoded.append(decode(record))
        except Poison as poison:
            faults.append(poison)
    if faults:
        first, *others = faults
        raise Poison(first.record, first.reason, [(other.record, other.reason) for other in others])
    return decoded


class DeadLetterNotTaken(Exception):
    """The dead letter topic does not take a record now; its partition waits, as the record must not be passed over."""


class DeadLetters:
    """Sends poison records to the dead letter topic of their topic, key and headers as they came.

    Whatever a broker has accepted can be sent here: what is too large is cut and named in a header. A record may be
    larger than a message of ours (another client, another limit), and compressed ones unfold to many times their size.
    """

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer

    async def put(self, group: str, record: Record, reason: str) -> None:
        """Return once the record and its reason are acknowledged. At least once: the same offset may be put again.

        Raises:
            DeadLetterNotTaken: not within 15 s, or the topic does not exist; try again.
        """
        letter = _letter(group, record, reason)
        try:
            await self._producer.send([letter], limit_s=_PUT_LIMIT_S)
        except Unavailable as error:
            raise DeadLetterNotTaken(
                f"the record at offset {record.offset} is refused ({reason[:_SHOWN_CHARS]}), and {letter.topic} "
                f"refuses it: {error.message}"
            ) from error


def _letter(group: str, record: Record, reason: str) -> Message:
    """Return the dead letter of a record, no larger than a message may be."""
    cut: list[str] = []
    key, headers = record.key, dict(record.headers)
    if key is not None and len(key) > _KEY_LIMIT_BYTES:
        cut.append(f"key {len(key)}")
        key = key[:_KEY_LIMIT_BYTES]
    if (size := sum(len(name) + len(value) for name, value in headers.items())) > _HEADERS_LIMIT_BYTES:
        cut.append(f"headers {size}")
        headers = {}
    headers[REASON_HEADER] = reason[:_REASON_LIMIT_CHARS].encode("utf-8", "replace")
    headers[GROUP_HEADER] = group.encode()
    headers[TOPIC_HEADER] = record.topic.encode()
    headers[PARTITION_HEADER] = str(record.partition).encode()
    headers[OFFSET_HEADER] = str(record.offset).encode()
    headers[CUT_HEADER] = ", ".join([*cut, f"value {len(record.value)}"]).encode()
    letter = Message(dlq(record.topic), key, record.value, headers)
    excess = letter.size_bytes - MAX_MESSAGE_BYTES
    if excess > 0:
        return replace(letter, value=record.value[:-excess])
    if cut:
        headers[CUT_HEADER] = ", ".join(cut).encode()
    else:
        del headers[CUT_HEADER]
    return letter
