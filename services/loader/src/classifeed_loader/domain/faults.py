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
            "The key that they were encrypted with is gone, or the loader was not given it.",
            "Enter the user name, the password and the headers of the feed anew in its settings.",
        ),
        FetchFault(
            "TASK_REFUSED",
            "The file was fetched, and loading it was refused",
            "The settings of the feed ask for what cannot be done.",
            "Correct the settings of the feed; the next fetch tries again.",
        ),
        FetchFault(
            "INTERNAL_FAULT",
            "The fetch failed because of a fault of ours",
            "A program of ours raised an exception each of the five times that it fetched the file.",
            "The next fetch tries again; if it fails too, tell the operator the incident, which finds it in the logs.",
        ),
        FetchFault(
            "QUARANTINED",
            "The program that fetches the file was killed three times",
            "Each time that the file was fetched, the process that did so died; the third time it ran nothing else.",
            "The next fetch tries again; tell the operator the incident, which finds it in the logs.",
        ),
        FetchFault(
            "FETCH_CANCELED",
            "The operator canceled the fetch",
            "Somebody who runs this installation ended the fetch before it was done.",
            "The next fetch goes on as planned; ask the operator why this one did not.",
        ),
    )
}

# Codes of downloads that failed through no fault of the site: they are tried again without ending the fetch.
OURS: Final = frozenset({"DISK_FULL", "STORE_FAILED", "PROXY_FAILED"})


class LoadFailed(Exception):
    """The fetch ends as FAILED: nothing of it passes by trying again at once.

    Attributes:
        code: A key of `FAULTS`.
        reason: What is wrong, without the fix and without secrets.
    """

    def __init__(self, code: str, reason: str) -> None:
        self.code = FAULTS[code].code
        self.reason = reason
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """What happened and the fix, in one text for the seller."""
        return f"{self.reason}. {FAULTS[self.code].suggestion}"
