"""Progress, outcomes and exceptions that handlers and the engine exchange."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from classifeed_jobs.model.storable import clean_json

_MAX_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a job, yielded by an async generator or passed to `JobContext.report`; shown with the job's status.

    A report never fails a run: values that cannot be stored are replaced (`clean_json`), and a detail of more than
    64 KiB is left out.

    Args:
        processed: Number of processed units.
        total: Total number of units; None while unknown.
        detail: Further JSON values to show.
    """

    processed: int = 0
    total: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object to store in the job's row."""
        counts = {"processed": self.processed, "total": self.total}
        cleaned: dict[str, Any] = clean_json({**counts, **self.detail})
        if len(json.dumps(cleaned)) > _MAX_BYTES:
            return {**clean_json(counts), "detail": f"left out: it has more than {_MAX_BYTES:,} bytes"}
        return cleaned


class JobSignal(Exception):
    """Base of exceptions by which a handler ends its run without success."""


class Retry(JobSignal):
    """Retry the job later. It uses up an attempt; without attempts left, the job fails.

    Args:
        after_s: Seconds before the next attempt; None for the task's back-off.
        reason: Text stored as the job's error.
    """

    def __init__(self, after_s: float | None = None, *, reason: str = "the handler requested another attempt") -> None:
        super().__init__(reason)
        self.after_s = after_s
        self.reason = reason


class Fail(JobSignal):
    """Fail the job immediately, even if attempts are left: a retry would fail the same way.

    Args:
        reason: Text stored as the job's error.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Snooze(JobSignal):
    """Continue the job later, without using up an attempt. The lock key is released meanwhile.

    Args:
        for_s: Seconds before the next run.
    """

    def __init__(self, for_s: float) -> None:
        super().__init__(f"snoozed for {for_s:g} s")
        self.for_s = for_s


class ClaimLost(Exception):
    """The run no longer holds its job: its lease expired and the job was requeued, or the job was completed.

    Do not catch it: the transaction in which it is raised must be rolled back.
    """


class StopRequested(Exception):
    """Raised by `JobContext.raise_if_stopped` when the run must end: canceled, draining, or the claim was lost."""
