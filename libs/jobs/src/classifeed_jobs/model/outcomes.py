"""What a handler may say to the engine, and what the engine says to a handler."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from classifeed_jobs.model.storable import clean_json

_MAX_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; yielded by an async generator or passed to `JobContext.report`. Shown with the job's status.

    A report never fails a run: texts and numbers in it that cannot be stored are replaced (`clean_json`), and a detail
    of more than 64 KiB is left out.

    Args:
        processed: units done so far.
        total: units in all; None while unknown.
        detail: anything else worth showing, JSON.
    """

    processed: int = 0
    total: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the form kept in the job's row."""
        counts = {"processed": self.processed, "total": self.total}
        cleaned: dict[str, Any] = clean_json({**counts, **self.detail})
        if len(json.dumps(cleaned)) > _MAX_BYTES:
            return {**clean_json(counts), "detail": f"left out: it has more than {_MAX_BYTES:,} bytes"}
        return cleaned


class JobSignal(Exception):
    """Base of what a handler raises to end its run otherwise than by success."""


class Retry(JobSignal):
    """Try again later; uses up an attempt, and fails the job when none is left.

    Args:
        after_s: how long to wait; None: what the task's back-off says.
        reason: kept as the job's error.
    """

    def __init__(self, after_s: float | None = None, *, reason: str = "the handler requested another attempt") -> None:
        super().__init__(reason)
        self.after_s = after_s
        self.reason = reason


class Fail(JobSignal):
    """Fail at once, whatever attempts are left: another try would end alike.

    Args:
        reason: kept as the job's error.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Snooze(JobSignal):
    """Go on later; uses up no attempt. The lock key is free meanwhile.

    Args:
        for_s: how long to wait.
    """

    def __init__(self, for_s: float) -> None:
        super().__init__(f"snoozed for {for_s:g} s")
        self.for_s = for_s


class ClaimLost(Exception):
    """This run does not hold its job any more: the lease ran out and the job was taken back, or it was ended.

    Whatever the transaction in which it is raised has written must be rolled back: let it through.
    """


class StopRequested(Exception):
    """Raised by `JobContext.raise_if_stopped` when the run is to end now: canceled, draining, or the claim was lost."""
