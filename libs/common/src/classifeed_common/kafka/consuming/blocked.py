"""BlockedPartitions: partitions whose next record fails. Each is retried separately while the others continue."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from classifeed_common.faults.lasting import LastingFault
from classifeed_common.kafka.consuming.attempts import FIRST_PAUSE_S
from classifeed_common.kafka.positions import GroupPartition
from classifeed_common.kafka.records import Record
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry import metrics
from classifeed_common.telemetry.fault_log import log_fault

_log = structlog.get_logger(__name__)

_AT_ONCE_S: Final = 0.02


@dataclass(slots=True)
class _Blocked:
    records: Sequence[Record]
    backoff: Backoff
    fault: LastingFault = field(default_factory=LastingFault)
    due_s: float = field(default=0.0)


class BlockedPartitions:
    """Holds the records of partitions whose effect failed, in memory, until an attempt succeeds.

    Its size is bounded by the result of one poll: a blocked partition is not read.
    """

    def __init__(self, *, max_pause_s: float) -> None:
        """Begin without blocked partitions.

        Args:
            max_pause_s: longest pause between attempts for one partition, in seconds.
        """
        self._max_pause_s = max_pause_s
        self._blocked: dict[GroupPartition, _Blocked] = {}

    def __contains__(self, part: GroupPartition) -> bool:
        return part in self._blocked

    def __iter__(self) -> Iterator[GroupPartition]:
        return iter(list(self._blocked))

    def block(self, part: GroupPartition, records: Sequence[Record], error: BaseException) -> None:
        """Record a failed attempt; the partition is due again after a pause that doubles each time."""
        now_s = time.monotonic()
        blocked = self._blocked.setdefault(part, _Blocked(records, Backoff(FIRST_PAUSE_S, self._max_pause_s)))
        blocked.records = records
        blocked.fault.note(error)
        attempts = blocked.fault.attempts
        pause_s = blocked.backoff.next_s()
        blocked.due_s = now_s + pause_s
        metrics.BLOCKED.labels(part.group).inc()
        if attempts & (attempts - 1) == 0:  # log attempts 1, 2, 4, 8 …: a dozen lines an hour
            log_fault(
                _log,
                "consumer.partition.blocked",
                error,
                retry_in_s=pause_s,
                is_repeated=attempts > 1,
                group=part.group,
                topic=part.topic,
                partition=part.partition,
                offset=records[0].offset,
                attempts=attempts,
            )

    def unblock(self, part: GroupPartition) -> bool:
        """Record a successful attempt; return whether the partition was blocked."""
        blocked = self._blocked.pop(part, None)
        if blocked is None:
            return False
        self._forget(part)
        _log.info(
            "consumer.partition.unblocked",
            group=part.group,
            topic=part.topic,
            partition=part.partition,
            attempts=blocked.fault.attempts,
            after_s=round(blocked.fault.lasted_s(), 1),
        )
        return True

    def clear(self) -> None:
        """Forget all partitions: the assignment has changed, and they are read again from their positions."""
        for part in self:
            self._forget(part)
        self._blocked.clear()

    def due(self) -> list[Record]:
        """Return the records of all partitions that are due; those that one attempt blocked come together."""
        now_s = time.monotonic()
        if all(now_s < each.due_s for each in self._blocked.values()):
            return []
        return [
            record for each in self._blocked.values() if each.due_s <= now_s + _AT_ONCE_S for record in each.records
        ]

    def due_in_s(self, limit_s: float) -> float:
        """Return the seconds until a partition is due, at most `limit_s`."""
        now_s = time.monotonic()
        return min([limit_s, *(max(0.0, each.due_s - now_s) for each in self._blocked.values())])

    def ages_s(self) -> dict[GroupPartition, float]:
        """Return the age of the next record of each partition, by the wall clock."""
        now_s = time.time()
        return {part: max(0.0, now_s - each.records[0].timestamp_ms / 1000) for part, each in self._blocked.items()}

    def show(self) -> None:
        """Update the gauge of each blocked partition."""
        for part, each in self._blocked.items():
            metrics.BLOCKED_SECONDS.labels(part.group, part.topic, str(part.partition)).set(each.fault.lasted_s())

    def describe(self) -> dict[str, str]:
        """Return which work fails, and since when, by partition."""
        found: dict[str, str] = {}
        for part, each in self._blocked.items():
            work = f"offset {each.records[0].offset}"
            effect = "The partition is blocked, the others continue"
            found |= each.fault.blocked(f"{part.topic}[{part.partition}]", work, effect)
        return found

    def _forget(self, part: GroupPartition) -> None:
        metrics.remove(metrics.BLOCKED_SECONDS, part)
