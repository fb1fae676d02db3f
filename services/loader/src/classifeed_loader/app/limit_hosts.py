"""Limits the downloads from one host, so that many feeds of a slow host leave slots for other hosts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from classifeed_common.fetch import HostPaused
from classifeed_jobs import Snooze

_FIRST_WAIT_S: Final = 1.0
_WAIT_STEP_S: Final = 0.25
_LONGEST_WAIT_S: Final = 30.0
_REDIRECTED_WAIT_S: Final = 60.0
_HOSTS: Final = 10_000


class HostSlots:
    """Counts the downloads per host in this process.

    The permits of hosts allow a few downloads per host over all processes, each for a different seller. A fetch that
    waits for a permit, however, holds a slot that a feed of another host could use. Beyond a limit, fetches therefore
    wait in the queue.

    Args:
        per_host: maximum number of downloads from one host, each for a different seller.
        waiters: maximum number of fetches that wait at busy hosts, over all hosts.
    """

    def __init__(self, *, per_host: int, waiters: int) -> None:
        self._per_host = per_host
        self._waiters = waiters
        self._taken: dict[str, Counter[str]] = {}
        self._refused: Counter[str] = Counter()
        self._without_permits: set[str] = set()
        self._waiting = 0

    @contextmanager
    def slot(self, url: str, seller_id: str) -> Iterator[None]:
        """Count a download of the seller from the link's host, or a wait for it, until the block ends. Never waits.

        Raises:
            Snooze: the slots of the host are taken in this process, or were taken in others lately; the wait grows with
                the number of refusals.
        """
        host = _host(url)
        taken = self._taken.get(host, Counter())
        is_taken, is_without = seller_id in taken or len(taken) >= self._per_host, host in self._without_permits
        would_wait = is_taken or is_without
        # One fetch at a time checks whether a host without permits has some again.
        if self._waiting >= self._waiters and (is_taken or (is_without and self._waiting)):
            raise self._put_off(host)
        taken = self._taken.setdefault(host, taken)
        taken[seller_id] += 1
        self._waiting += would_wait
        try:
            yield
        except HostPaused as paused:
            # After a redirect to a paused host, the hosts before it got a useless request.
            at_least_s = paused.wait_s if paused.host == host else max(paused.wait_s, _REDIRECTED_WAIT_S)
            self._without_permits.add(paused.host)
            raise self._put_off(paused.host, at_least_s) from paused
        else:
            self._refused.pop(host, None)
            self._without_permits.discard(host)
        finally:
            self._waiting -= would_wait
            taken[seller_id] -= 1
            if not taken[seller_id]:
                del taken[seller_id]
            if not taken:
                del self._taken[host]

    def _put_off(self, host: str, at_least_s: float = 0.0) -> Snooze:
        """Return the exception that postpones a fetch; the wait grows with the refusals of the host in a row."""
        if len(self._refused) >= _HOSTS:
            self._refused.clear()  # some fetches are retried sooner than they should
            self._without_permits.clear()
        self._refused[host] += 1
        longest_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S + _WAIT_STEP_S * self._refused[host])
        return Snooze(at_least_s + longest_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
