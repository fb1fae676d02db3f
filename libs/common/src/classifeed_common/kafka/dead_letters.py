"""Dead letters: a record with a lasting fault goes to `<topic>.dlq` with the reason, and its partition moves on."""

from __future__ import annotations

from typing import Final

from classifeed_common.kafka.producer import KafkaProducer
from classifeed_common.kafka.records import Message, Record
from classifeed_common.kafka.topics import dlq

REASON_HEADER: Final = "dlq-reason"
GROUP_HEADER: Final = "dlq-group"
TOPIC_HEADER: Final = "dlq-topic"
PARTITION_HEADER: Final = "dlq-partition"
OFFSET_HEADER: Final = "dlq-offset"

_REASON_LIMIT_CHARS: Final = 2000


class Poison(Exception):
    """Raised by a handler for a deterministic fault of one record: trying again would end the same way.

    Passing faults (a database away, a lock not had) are any other exception: those are retried for ever.
    """

    def __init__(self, record: Record, reason: str) -> None:
        super().__init__(f"{record.topic}[{record.partition}] offset {record.offset}: {reason}")
        self.record = record
        self.reason = reason


class DeadLetters:
    """Sends poison records to the dead letter topic of their topic, key and headers as they came."""

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer

    async def put(self, group: str, record: Record, reason: str) -> None:
        """Return once the record and its reason are acknowledged. At least once: the same offset may be put again.

        Raises:
            Unavailable: the dead letter topic does not take it now; the record must not be passed over.
        """
        headers = dict(record.headers)
        headers[REASON_HEADER] = reason[:_REASON_LIMIT_CHARS].encode("utf-8", "replace")
        headers[GROUP_HEADER] = group.encode()
        headers[TOPIC_HEADER] = record.topic.encode()
        headers[PARTITION_HEADER] = str(record.partition).encode()
        headers[OFFSET_HEADER] = str(record.offset).encode()
        await self._producer.send([Message(dlq(record.topic), record.key, record.value, headers)])
