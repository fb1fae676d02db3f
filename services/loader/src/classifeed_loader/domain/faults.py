"""Faults that complete a fetch, in addition to those of the download, and faults that do not complete it."""

from __future__ import annotations

from typing import Final

from classifeed_common.fetch import FetchFault

FAULTS: Final = {
    fault.code: fault
    for fault in (
        FetchFault(
            "CREDENTIALS_UNREADABLE",
            "The credentials of the feed cannot be read",
            "The key that encrypted them is missing, or is not configured in the loader.",
            "Enter the user name, the password and the headers of the feed again in its settings.",
        ),
        FetchFault(
            "TASK_REFUSED",
            "The file was fetched, but its load was refused",
            "The settings of the feed cannot be applied.",
            "Correct the settings of the feed; the next fetch tries again.",
        ),
        FetchFault(
            "HOST_PAUSED",
            "The site allows no requests for now",
            "The site sent a Retry-After in a response to another feed of the same seller, and that time is not over.",
            "The next fetch runs after that time; if that is too late, have the site shorten its Retry-After.",
        ),
        FetchFault(
            "INTERNAL_FAULT",
            "The fetch failed because of an internal fault",
            "The service raised an exception in each of five attempts to fetch the file.",
            "The next fetch tries again; if it fails too, give the operator the incident, which identifies it in the "
            "logs.",
        ),
        FetchFault(
            "QUARANTINED",
            "The process that fetches the file was killed three times",
            "In each of three attempts the process that fetched the file was killed; the third time it ran nothing "
            "else.",
            "The next fetch tries again; give the operator the incident, which identifies it in the logs.",
        ),
        FetchFault(
            "FETCH_CANCELED",
            "The operator canceled the fetch",
            "An operator of this installation canceled the fetch before it was complete.",
            "The next fetch runs as planned; the operator knows why this one was canceled.",
        ),
    )
}

# Codes of downloads that failed because of this installation: they are retried and do not complete the fetch.
OURS: Final = frozenset({"DISK_FULL", "STORE_FAILED", "PROXY_FAILED"})


class LoadFailed(Exception):
    """The fetch FAILED, and an immediate retry would not help.

    Attributes:
        code: key of `FAULTS`.
        reason: the problem, without the fix and without secrets.
        retry_after_s: seconds for which the site accepts no request.
    """

    def __init__(self, code: str, reason: str, *, retry_after_s: float = 0.0) -> None:
        self.code = FAULTS[code].code
        self.reason = reason
        self.retry_after_s = retry_after_s
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The problem and its fix, as one text for the seller."""
        return f"{self.reason}. {FAULTS[self.code].suggestion}"
