"""Rate limits of callers: a token bucket per caller, and one for all anonymous callers together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from classifeed_common.errors import ResourceExhausted

_MOST_CALLERS: Final = 1024


@dataclass(frozen=True, slots=True)
class RequestRate:
    """A request rate.

    Attributes:
        per_s: requests per second over a long time.
        burst: requests at once after a quiet time.
    """

    per_s: float
    burst: int = 1

    def __post_init__(self) -> None:
        if self.per_s <= 0 or self.burst < 1:
            raise ValueError(f"a rate needs more than 0 requests a second and a burst of at least 1: {self}")


class _Bucket:
    def __init__(self, rate: RequestRate, now: float) -> None:
        self._rate = rate
        self._left: float = rate.burst
        self._counted_at = now

    def take(self, now: float) -> float:
        """Take one request; return 0, or the seconds until one is available."""
        self._refill(now)
        if self._left < 1:
            return (1 - self._left) / self._rate.per_s
        self._left -= 1
        return 0.0

    def is_full(self, now: float) -> bool:
        """Whether it is in the same state as a new one."""
        self._refill(now)
        return self._left >= self._rate.burst

    def _refill(self, now: float) -> None:
        self._left = min(self._rate.burst, self._left + (now - self._counted_at) * self._rate.per_s)
        self._counted_at = now


class RequestLimits:
    """Limits of one API in one process.

    Args:
        per_caller: rate of each caller with a token; None: no limit.
        anonymous: rate of all callers without a token together; None: no limit.
        now: monotonic clock, in seconds.
    """

    def __init__(
        self,
        *,
        per_caller: RequestRate | None = None,
        anonymous: RequestRate | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_caller = per_caller
        self._anonymous = anonymous
        self._now = now
        self._buckets: dict[str | None, _Bucket] = {}

    @property
    def are_set(self) -> bool:
        """Whether any limit is set."""
        return self._per_caller is not None or self._anonymous is not None

    def take(self, caller: str | None) -> None:
        """Count one request.

        Args:
            caller: name of the caller; None: it has no token.

        Raises:
            ResourceExhausted: REQUEST_RATE_LIMIT, with the time until the next request is accepted.
        """
        rate = self._anonymous if caller is None else self._per_caller
        if rate is None:
            return
        now = self._now()
        bucket = self._buckets.get(caller)
        if bucket is None:
            if len(self._buckets) >= _MOST_CALLERS:
                self._buckets = {name: kept for name, kept in self._buckets.items() if not kept.is_full(now)}
            bucket = self._buckets[caller] = _Bucket(rate, now)
        wait_s = bucket.take(now)
        if wait_s > 0:
            whose = "Callers without a token together" if caller is None else caller
            raise ResourceExhausted(
                "REQUEST_RATE_LIMIT",
                f"{whose} may send {rate.per_s:g} requests a second here, {rate.burst} at once. Send it again later.",
                retry_after_s=wait_s,
            )


NO_LIMITS: Final = RequestLimits()
