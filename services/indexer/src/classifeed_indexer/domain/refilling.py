"""Steps of a refill through the receiver's registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class RegistryPosition(NamedTuple):
    """The refill has put everything up to the document with this key into the queue."""

    pk_hash: int
    pk: str


@dataclass(frozen=True, slots=True)
class RefillStep:
    """What a step came to: documents put into the queue, the index of the last, where to go on; None: all are in it."""

    documents: int
    last_idx: int
    next: RegistryPosition | None
