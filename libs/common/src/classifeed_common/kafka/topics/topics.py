"""Topic: the declaration of a topic and of its dead letters. The table of topics is in `classifeed_domain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_DLQ_SUFFIX: Final = ".dlq"
_DEAD_LETTERS_MS: Final = 30 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Topic:
    """The declaration of a topic: partitions, retention in milliseconds, compacted or not."""

    name: str
    partitions: int
    retention_ms: int
    compacted: bool = False

    @property
    def dead_letters(self) -> Topic:
        """The topic of its dead letters. One partition: there are few, and an operator reads them in order."""
        return Topic(dlq(self.name), partitions=1, retention_ms=_DEAD_LETTERS_MS)


def dlq(topic: str) -> str:
    """Return the name of the dead letter topic of `topic`."""
    return topic + _DLQ_SUFFIX
