"""Why an index is made again from the registry, and how far that is."""

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
    """Why an index is made again.

    Attributes:
        kind: one of the constants above, for metrics.
        text: for people.
        keeps_former: the index before it is nearly right and can be searched meanwhile.
    """

    kind: str
    text: str
    keeps_former: bool = False


@dataclass(slots=True)
class Attempts:
    """Attempts of a rebuild that failed in a row.

    Attributes:
        failed: how many.
        why: why the last one failed, for people; empty: none has failed.
    """

    failed: int = 0
    why: str = ""

    def note_failure(self, why: str, *, first_pause_s: float) -> float:
        """Note a failure; return how long to wait before the next attempt, in seconds: twice as long each time."""
        pause_s = min(first_pause_s * 2.0 ** min(self.failed, _DOUBLINGS), _LONGEST_PAUSE_S)
        self.failed, self.why = self.failed + 1, why
        return pause_s


@dataclass(slots=True)
class Rebuild:
    """An index on its way from the registry.

    Attributes:
        cause: why.
        shards: how many shards were read to their ends.
        documents: how many documents were read.
        blocked_by: what it cannot go on without, for people; empty: nothing.
        is_following: all shards were read, and the changes since are being taken in.
        damaged: how many rows of the registry were left out because they are damaged.
        attempt: number of this attempt, from 1.
        failed_by: why the attempt before failed, for people; empty: there was none.
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
