"""Causes, attempts and progress of a rebuild of an index from the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_domain.document_shards import SHARDS

NO_INDEX: Final = "no_index"
LOG_LOST: Final = "log_lost"
DIFFERENCE: Final = "difference"
OTHER_EPOCH: Final = "other_epoch"

_DOUBLINGS: Final = 10
_LONGEST_PAUSE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Cause:
    """Cause of a rebuild.

    Attributes:
        kind: one of the constants above, for metrics.
        text: description for people.
        keeps_former: whether the former index is nearly right, so that it is searched meanwhile.
    """

    kind: str
    text: str
    keeps_former: bool = False


@dataclass(slots=True)
class Attempts:
    """Consecutive failed attempts of a rebuild.

    Attributes:
        failed: number of failed attempts.
        why: reason of the last failure, for people; empty: none has failed.
    """

    failed: int = 0
    why: str = ""

    def note_failure(self, why: str, *, first_pause_s: float) -> float:
        """Record a failure; return the back-off before the next attempt, in seconds. It doubles each time."""
        pause_s = min(first_pause_s * 2.0 ** min(self.failed, _DOUBLINGS), _LONGEST_PAUSE_S)
        self.failed, self.why = self.failed + 1, why
        return pause_s


@dataclass(slots=True)
class Rebuild:
    """Progress of a rebuild from the registry.

    Attributes:
        cause: cause of the rebuild.
        shards: number of shards that were read to their ends.
        documents: number of documents read.
        blocked_by: error that the rebuild waits for, for people; empty: none.
        is_following: whether all shards were read, and later changes are being applied.
        damaged: number of damaged rows of the registry that were left out.
        attempt: number of this attempt, from 1.
        failed_by: reason of the previous attempt's failure, for people; empty: there was none.
    """

    cause: Cause
    shards: int = 0
    documents: int = 0
    blocked_by: str = ""
    is_following: bool = False
    damaged: int = 0
    attempt: int = 1
    failed_by: str = ""

    def describe(self, client: str) -> str:
        """Return the state in a line."""
        stage = "applying changes that came meanwhile" if self.is_following else f"{self.shards} of {SHARDS} shards"
        waits = f"; waiting: {self.blocked_by}" if self.blocked_by else ""
        failed = f"; attempt {self.attempt}, the one before failed: {self.failed_by}" if self.failed_by else ""
        damaged = f"; damaged rows of the registry left out: {self.damaged}" if self.damaged else ""
        return (
            f"rebuilding the index of {client} from the registry: {stage} ({self.cause.text}){waits}{failed}{damaged}"
        )
