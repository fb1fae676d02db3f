"""Why an index is made again from the registry, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_domain.document_shards import SHARDS

NO_INDEX: Final = "no_index"
LOG_LOST: Final = "log_lost"
DIFFERENCE: Final = "difference"
OTHER_EPOCH: Final = "other_epoch"


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
class Rebuild:
    """An index on its way from the registry.

    Attributes:
        cause: why.
        shards: how many shards were read to their ends.
        documents: how many documents were read.
        blocked_by: what it cannot go on without, for people; empty: nothing.
        is_following: all shards were read, and the changes since are being taken in.
    """

    cause: Cause
    shards: int = 0
    documents: int = 0
    blocked_by: str = ""
    is_following: bool = False

    def describe(self, client: str) -> str:
        """Return the state in a line."""
        stage = "applying changes that came meanwhile" if self.is_following else f"{self.shards} of {SHARDS} shards"
        waits = f"; waiting: {self.blocked_by}" if self.blocked_by else ""
        return f"rebuilding the index of {client} from the registry: {stage} ({self.cause.text}){waits}"
