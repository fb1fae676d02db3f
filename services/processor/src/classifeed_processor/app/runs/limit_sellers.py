"""Windows of batches without a reply: one of a fixed size for each seller, shared by its runs in this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class SellerWindows:
    """Says how many batches of a run may wait for their replies.

    What a seller has sent lies before everybody else's batches at the owner, so its size is what a neighbour waits for,
    however many files the seller loads at a time (ADR 0035).

    Args:
        batches: of one seller that may wait for their replies, at most.
    """

    def __init__(self, batches: int) -> None:
        self._batches = batches
        self._runs: Counter[str] = Counter()

    @property
    def largest(self) -> int:
        """The window of a run that has no other one of its seller beside it."""
        return self._batches

    @contextmanager
    def open(self, seller_id: str) -> Iterator[Callable[[], int]]:
        """Count a run in until the block ends; yields what returns its window now, 1 or more."""
        self._runs[seller_id] += 1
        try:
            yield lambda: max(1, self._batches // self._runs[seller_id])
        finally:
            self._runs[seller_id] -= 1
            if not self._runs[seller_id]:
                del self._runs[seller_id]
