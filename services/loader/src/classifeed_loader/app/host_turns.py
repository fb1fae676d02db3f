"""Turns at the hosts of feeds: many feeds of one slow host leave room for those of others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from classifeed_jobs import Snooze

_FIRST_WAIT_S: Final = 1.0
_WAIT_STEP_S: Final = 0.25
_LONGEST_WAIT_S: Final = 30.0


class HostTurns:
    """Who downloads from which host in this process.

    The downloader keeps to one connection a host by itself, in the order of coming. Yet who waits there holds a place
    that a feed of another host could have: beyond some, they wait in the queue instead.

    Args:
        waiters: how many may wait for their turn at a host that is taken, of all hosts together.
    """

    def __init__(self, *, waiters: int) -> None:
        self._waiters = waiters
        self._taken: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    @contextmanager
    def turn(self, url: str) -> Iterator[None]:
        """Counts as one who downloads from the link's host, or waits to, until the block ends. Never waits itself.

        Raises:
            Snooze: the host is to be left alone for now, the longer the more have asked.
        """
        host = _host(url)
        if self._taken[host] and self._waiting() >= self._waiters:
            self._refused[host] += 1
            longest_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S + _WAIT_STEP_S * self._refused[host])
            raise Snooze(longest_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
        self._taken[host] += 1
        try:
            yield
        finally:
            self._taken[host] -= 1
            if not self._taken[host]:
                del self._taken[host], self._refused[host]

    def _waiting(self) -> int:
        return sum(count - 1 for count in self._taken.values() if count)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
