"""Permits: the protocols by which a Fetcher respects limits of requests per host, shared by all processes.

`classifeed_common.host_limits` implements them with a table.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Protocol


class HostPaused(Exception):
    """The host may get no request for longer than the caller may wait. Nothing was sent; retry later.

    Attributes:
        host: name of the host.
        wait_s: remaining pause, in seconds.
        until: end of the pause, by the database's clock.
        by_retry_after: whether the host's Retry-After caused the pause; if not, its request limit is used up.
    """

    def __init__(self, host: str, wait_s: float, until: datetime, *, by_retry_after: bool) -> None:
        super().__init__(f"no request is sent to {host} before {until:%Y-%m-%d %H:%M:%S %Z}, in {wait_s:.1f} s")
        self.host = host
        self.wait_s = wait_s
        self.until = until
        self.by_retry_after = by_retry_after


class Outcome(StrEnum):
    """The meaning of a response for the rate of requests to its host."""

    OK = "ok"
    SLOW_DOWN = "slow_down"
    REFUSED = "refused"
    FAILED = "failed"


_SLOW_DOWN: Final = frozenset({
    "HTTP_TOO_MANY_REQUESTS", "HTTP_UNAVAILABLE", "CONNECT_TIMEOUT", "READ_TIMEOUT", "TOO_SLOW", "TOTAL_TIMEOUT",
})  # fmt: skip
# Faults of the host as a whole, independent of the rate; a fault of a single file is FAILED.
_REFUSED: Final = frozenset({"HTTP_UNAUTHORIZED", "HTTP_FORBIDDEN", "CONNECT_REFUSED", "CONNECT_FAILED"})


def outcome_of(code: str) -> Outcome:
    """Return the outcome of a request that failed with a code of `FETCH_FAULTS`."""
    if code in _SLOW_DOWN:
        return Outcome.SLOW_DOWN
    return Outcome.REFUSED if code in _REFUSED else Outcome.FAILED


class Permit(Protocol):
    """The right to have one request under way to a host."""

    async def ready(self) -> None:
        """Wait until the request may be sent, which must then happen at once. Call it before each request.

        Raises:
            HostPaused: the wait would be longer than the caller may wait.
        """

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        """Report the outcome, and the seconds during which the server accepts no requests."""

    def now(self) -> datetime:
        """Return the time by the clock of the pauses."""


class HostPermits(Protocol):
    """Gives out permits."""

    def permit(self, host: str, *, owner: str = "") -> AbstractAsyncContextManager[Permit]:
        """Provide a permit for a host, returned when the block ends.

        Args:
            host: name of the host.
            owner: owner of the request.

        Raises:
            HostPaused: no permit will be free within the time that the caller may wait.
        """


class NoPermit:
    """The permit for hosts without limits."""

    async def ready(self) -> None:
        """Return at once."""

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        """Ignore the outcome."""

    def now(self) -> datetime:
        """Return the time by the system's clock."""
        return datetime.now(UTC)
