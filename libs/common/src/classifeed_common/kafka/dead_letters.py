"""Dead letters: a record with a permanent fault goes to `<topic>.dlq` with the reason, and its partition moves on."""

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
"""Header that names the parts that were cut, each with its full size in bytes; the source topic has the full record."""

_REASON_LIMIT_CHARS: Final = 2000
_SHOWN_CHARS: Final = 200
_PUT_LIMIT_S: Final = 15.0
_KEY_LIMIT_BYTES: Final = 16 * 1024
_HEADERS_LIMIT_BYTES: Final = 16 * 1024


class Poison(Exception):
    """Raised by a handler for a permanent fault of one record: a retry would fail in the same way.

    Raise any other exception for a passing fault (a database away, a lock not available): it is retried without an end.

    Attributes:
        record: the record.
        reason: description of the fault.
        others: further faulty records of the same call, each with its reason; reporting them together saves attempts.
    """

    def __init__(self, record: Record, reason: str, others: Sequence[tuple[Record, str]] = ()) -> None:
        super().__init__(f"{record.topic}[{record.partition}] offset {record.offset}: {reason}")
        self.record = record
        self.reason = reason
        self.others = tuple(others)


def decode_all(records: Sequence[Record], decode: Callable[[Record], R]) -> list[R]:
    """Return the results of `decode` for all records, in order.

    Raises:
        Poison: `decode` raised it for some records; it names all of them.
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
    """The dead letter topic does not accept a record now. Its partition waits: the record must not be lost."""


class DeadLetters:
    """Sends poison records to the dead letter topic of their topic, with the original key and headers.

    Any record that a broker accepted can be sent: parts that are too large are cut and named in a header. A record may
    be larger than our messages (another client, another limit), and compressed records expand to many times their size.
    """

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer

    async def put(self, group: str, record: Record, reason: str) -> None:
        """Return once the record and its reason are acknowledged. At least once: the same offset may be sent again.

        Raises:
            DeadLetterNotTaken: not acknowledged within 15 s, or the topic does not exist; retry.
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
    """Return the dead letter of a record, within the size limit of a message."""
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
