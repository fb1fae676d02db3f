"""Permits: what a request to a host needs where hosts are limited over all processes of a service.

The Fetcher knows them by these protocols alone; `classifeed_common.host_limits` keeps them in a table.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Protocol


class HostPaused(Exception):
    """The host is not to get requests for longer than the caller may wait. Come again later; nothing was sent.

    Attributes:
        host: Its name.
        wait_s: For how long, in seconds.
        until: When that is over, by the database's clock.
        by_retry_after: Whether a Retry-After of the host says so; otherwise it gets as many requests as it may.
    """

    def __init__(self, host: str, wait_s: float, until: datetime, *, by_retry_after: bool) -> None:
        super().__init__(f"no request is sent to {host} before {until:%Y-%m-%d %H:%M:%S %Z}, in {wait_s:.1f} s")
        self.host = host
        self.wait_s = wait_s
        self.until = until
        self.by_retry_after = by_retry_after


class Outcome(StrEnum):
    """What the response to a request says of the rate at which its host may get requests."""

    OK = "ok"
    SLOW_DOWN = "slow_down"
    REFUSED = "refused"
    FAILED = "failed"


_SLOW_DOWN: Final = frozenset({
    "HTTP_TOO_MANY_REQUESTS", "HTTP_UNAVAILABLE", "CONNECT_TIMEOUT", "READ_TIMEOUT", "TOO_SLOW", "TOTAL_TIMEOUT",
})  # fmt: skip
# Of the host as a whole, whatever the rate; what is wrong with one file alone has failed.
_REFUSED: Final = frozenset({"HTTP_UNAUTHORIZED", "HTTP_FORBIDDEN", "CONNECT_REFUSED", "CONNECT_FAILED"})


def outcome_of(code: str) -> Outcome:
    """Return the outcome of a request that failed with a code of `FETCH_FAULTS`."""
    if code in _SLOW_DOWN:
        return Outcome.SLOW_DOWN
    return Outcome.REFUSED if code in _REFUSED else Outcome.FAILED


class Permit(Protocol):
    """The right to have one request under way to a host."""

    async def ready(self) -> None:
        """Return when the request may be sent, which is then to be done at once; called for each that is sent.

        Raises:
            HostPaused: not within the time that the caller may wait.
        """

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        """Take note of the outcome, and for how long the server wants no requests."""

    def now(self) -> datetime:
        """Return the time by the clock that pauses are kept by."""


class HostPermits(Protocol):
    """Gives permits."""

    def permit(self, host: str, *, owner: str = "") -> AbstractAsyncContextManager[Permit]:
        """Give a permit for a host, which is given back when the block ends.

        Args:
            host: its name.
            owner: for whom the request is made.

        Raises:
            HostPaused: there will be none within the time that the caller may wait.
        """


class NoPermit:
    """Stands for a permit where hosts are not limited."""

    async def ready(self) -> None:
        """Return at once."""

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        """Take note of nothing."""

    def now(self) -> datetime:
        """Return the time by this machine's clock."""
        return datetime.now(UTC)
