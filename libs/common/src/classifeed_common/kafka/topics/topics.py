"""Topics: what is declared of one, and where its dead letters go. The table of them is in `classifeed_domain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_DLQ_SUFFIX: Final = ".dlq"
_DEAD_LETTERS_MS: Final = 30 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as declared: partitions, retention in milliseconds, compacted or not."""

    name: str
    partitions: int
    retention_ms: int
    compacted: bool = False

    @property
    def dead_letters(self) -> Topic:
        """The topic of its dead letters: one partition, as they are few, and an operator reads them in one order."""
        return Topic(dlq(self.name), partitions=1, retention_ms=_DEAD_LETTERS_MS)


def dlq(topic: str) -> str:
    """Return the name of the topic that takes the dead letters of `topic`."""
    return topic + _DLQ_SUFFIX
