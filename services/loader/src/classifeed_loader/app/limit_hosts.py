"""Limit the downloads from one host: many feeds of one slow host leave slots for those of others."""

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
_HOSTS: Final = 10_000


class HostSlots:
    """Who downloads from which host in this process.

    The permits of hosts keep to a few downloads a host over all processes, one of each seller. Yet who waits for one
    holds a slot that a feed of another host could have: beyond some, they wait in the queue instead.

    Args:
        per_host: how many download from one host at a time, each for another seller.
        waiters: how many may wait at a host whose slots are taken, of all hosts together.
    """

    def __init__(self, *, per_host: int, waiters: int) -> None:
        self._per_host = per_host
        self._waiters = waiters
        self._taken: dict[str, Counter[str]] = {}
        self._refused: Counter[str] = Counter()

    @contextmanager
    def slot(self, url: str, seller_id: str) -> Iterator[None]:
        """Count a download of the seller from the link's host, or a wait for it, until the block ends. Never waits.

        Raises:
            Snooze: the host's slots are taken; the wait grows with the refusals.
        """
        host = _host(url)
        taken = self._taken.get(host, Counter())
        would_wait = seller_id in taken or len(taken) >= self._per_host
        if would_wait and self._waiting() >= self._waiters:
            raise self.put_off(url)
        taken = self._taken.setdefault(host, taken)
        taken[seller_id] += 1
        is_put_off = False
        try:
            yield
        except Snooze:
            is_put_off = True
            raise
        finally:
            taken[seller_id] -= 1
            if not taken[seller_id]:
                del taken[seller_id]
            if not taken:
                del self._taken[host]
                if not is_put_off:
                    self._refused.pop(host, None)

    def put_off(self, url: str, at_least_s: float = 0.0) -> Snooze:
        """Return what has a fetch come again later; the more of one host are refused in a row, the later."""
        host = _host(url)
        if len(self._refused) >= _HOSTS:
            self._refused.clear()  # some come again sooner
        self._refused[host] += 1
        longest_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S + _WAIT_STEP_S * self._refused[host])
        return Snooze(at_least_s + longest_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret

    def _waiting(self) -> int:
        return sum(taken.total() - min(len(taken), self._per_host) for taken in self._taken.values())


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
