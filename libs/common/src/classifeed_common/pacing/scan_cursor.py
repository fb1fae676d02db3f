"""ScanCursor: where a read of an index may begin while the index is full of dead entries (ADR 0038)."""

from __future__ import annotations

from typing import Generic, TypeVar

from classifeed_common.pacing.duty_cycle import DutyCycle

P = TypeVar("P")


class ScanCursor(Generic[P]):
    """The position after which the next read begins: the last one, or the head of the index for a full scan.

    While a transaction is open, each row that left the index since its start leaves a dead entry, and a full scan reads
    them all. So reads begin after the last position, and full scans find the rows before it (committed late, refused,
    due again). Full scans take 5 % of the time. While they are short, every read is one.

    Args:
        head: position of a full scan.
        duty_cycle: share of the time for full scans.
    """

    def __init__(self, head: P, duty_cycle: DutyCycle | None = None) -> None:
        self._head = head
        self._duty_cycle = duty_cycle or DutyCycle()
        self.position = head

    @property
    def is_full_scan_due(self) -> bool:
        """Whether the next read is a full scan."""
        return self.position == self._head or self._duty_cycle.is_due

    @property
    def full_scan_in_s(self) -> float:
        """Seconds until the next full scan."""
        return 0.0 if self.position == self._head else self._duty_cycle.due_in_s

    def begin(self) -> P:
        """Return the position after which the next read must begin."""
        return self._head if self.is_full_scan_due else self.position

    def read(self, after: P, last: P | None, took_s: float) -> None:
        """Record a read.

        Args:
            after: position after which it began.
            last: position after which the next one may begin; None: unchanged.
            took_s: duration of the scan, in seconds.
        """
        if after == self._head:
            self._duty_cycle.took(took_s)
            if not self._duty_cycle.is_long:
                self.position = self._head
                return
        if last is not None:
            self.position = last

    def reset(self) -> None:
        """Start with a full scan."""
        self.position = self._head
