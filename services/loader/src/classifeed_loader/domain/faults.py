"""Faults that end a fetch besides those of the download itself, and those that do not end it."""

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
            "The site wants no requests for now",
            "A Retry-After of the site, in a response to another feed of the same seller there, is not over.",
            "The next fetch comes after that time; if it is too late, have the site shorten its Retry-After.",
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

# Codes of downloads that failed through no fault of the site: they are tried again and do not complete the fetch.
OURS: Final = frozenset({"DISK_FULL", "STORE_FAILED", "PROXY_FAILED"})


class LoadFailed(Exception):
    """The fetch ends as FAILED: nothing of it passes by trying again at once.

    Attributes:
        code: A key of `FAULTS`.
        reason: What is wrong, without the fix and without secrets.
        retry_after_s: How long the site wants no request, in seconds.
    """

    def __init__(self, code: str, reason: str, *, retry_after_s: float = 0.0) -> None:
        self.code = FAULTS[code].code
        self.reason = reason
        self.retry_after_s = retry_after_s
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """What happened and the fix, in one text for the seller."""
        return f"{self.reason}. {FAULTS[self.code].suggestion}"
