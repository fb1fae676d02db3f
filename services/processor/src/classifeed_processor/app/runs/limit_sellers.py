"""Windows that limit the unanswered batches of a seller; the seller's runs in this process share the window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# Batches have up to 100 offers each. All sellers wait for those that the service offers has not applied.
WINDOW_BATCHES: Final = 16


class SellerWindows:
    """Limits the number of batches of a run that may wait for replies.

    Other sellers wait at the service offers for the batches that this seller has sent. So the window is per seller, for
    any number of files that the seller loads at a time (ADR 0035).

    Args:
        batches: maximum number of batches of one seller that may wait for replies.
    """

    def __init__(self, batches: int = WINDOW_BATCHES) -> None:
        self._batches = batches
        self._runs: Counter[str] = Counter()

    @property
    def largest(self) -> int:
        """The window of a seller's only run, in batches."""
        return self._batches

    @contextmanager
    def open(self, seller_id: str) -> Iterator[Callable[[], int]]:
        """Count a run until the block ends; yield a function that returns its current window, at least 1."""
        self._runs[seller_id] += 1
        try:
            yield lambda: max(1, self._batches // self._runs[seller_id])
        finally:
            self._runs[seller_id] -= 1
            if not self._runs[seller_id]:
                del self._runs[seller_id]
