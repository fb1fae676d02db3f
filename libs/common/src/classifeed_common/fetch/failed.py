"""FetchFailed: the reason why a download failed, for the owner of the URL."""

from __future__ import annotations

from collections.abc import Mapping

from classifeed_common.fetch.faults import FEED_FIXES, FETCH_FAULTS


class FetchFailed(Exception):
    """A failed download. No file was left behind.

    Attributes:
        code: key of `FETCH_FAULTS`.
        reason: what happened and where, without the fix and without secrets.
        http_status: status of the last response; 0: none was received.
        bytes_received: size of the last response's body, as transferred.
        retry_after_s: seconds during which the server accepts no requests, 0 to 24 h; None: the server names no time.
        fixes: fixes by code, for the caller of the Fetcher.
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
