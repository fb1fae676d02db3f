"""FetchFailed: why a download did not come, in words for the one whose link it is."""

from __future__ import annotations

from collections.abc import Mapping

from classifeed_common.fetch.faults import FEED_FIXES, FETCH_FAULTS


class FetchFailed(Exception):
    """Nothing was downloaded, and nothing was left behind.

    Attributes:
        code: A key of `FETCH_FAULTS`.
        reason: What happened and where, in words, without the fix and without secrets.
        http_status: Of the last response; 0 when none came.
        bytes_received: Of the last response's body, as it travelled.
        retry_after_s: How long the server wants no requests, 0 to 24 h in seconds; None when it names no time.
        fixes: What to do, by code, for the caller of the Fetcher.
    """

    def __init__(
        self,
        code: str,
        reason: str,
        *,
        http_status: int = 0,
        bytes_received: int = 0,
        retry_after_s: float | None = None,
    ) -> None:
        self.code = FETCH_FAULTS[code].code
        self.reason = reason
        self.http_status = http_status
        self.bytes_received = bytes_received
        self.retry_after_s = retry_after_s
        self.fixes: Mapping[str, str] = FEED_FIXES
        super().__init__(code, reason)

    def __str__(self) -> str:
        """Return the message."""
        return self.message

    @property
    def message(self) -> str:
        """What happened, where, and what to do, in one text for the seller."""
        return f"{self.reason}. {self.fixes[self.code]}"
