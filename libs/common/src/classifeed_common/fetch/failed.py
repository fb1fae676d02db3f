"""FetchFailed: why a download did not come, in words for the one whose link it is."""

from __future__ import annotations

from classifeed_common.fetch.faults import FETCH_FAULTS


class FetchFailed(Exception):
    """Nothing was downloaded, and nothing was left behind.

    Attributes:
        code: A key of `FETCH_FAULTS`.
        reason: What happened and where, in words, without the fix and without secrets.
        http_status: Of the last response; 0 when none came.
        bytes_received: Of the last response's body, as it travelled.
        retry_after_s: How long the server wants no requests, 0 to 24 h in seconds; None when it names no time.
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
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """What happened, where, and what to do, in one text for the seller."""
        return f"{self.reason}. {FETCH_FAULTS[self.code].suggestion}"
