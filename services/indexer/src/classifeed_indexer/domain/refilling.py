"""Steps of a refill through the receiver's registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class RegistryPosition(NamedTuple):
    """Key of the last document of the registry that a refill has put into the queue."""

    pk_hash: int
    pk: str


@dataclass(frozen=True, slots=True)
class RefillStep:
    """Result of a step.

    Attributes:
        documents: number of documents put into the queue.
        last_idx: index of the last element that the refill has put into the queue.
        next: position in the registry to continue from; None: the registry was read to the end.
    """

    documents: int
    last_idx: int
    next: RegistryPosition | None
