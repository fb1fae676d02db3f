"""Which faults the loops of the indexer retry."""

from __future__ import annotations

from classifeed_common.db import is_passing_fault
from classifeed_common.errors import DomainError


def raise_unforeseen(error: Exception) -> None:
    """Raise any error that is not a refusal of a service or a passing fault of the database: it ends the process."""
    if not (isinstance(error, DomainError) or is_passing_fault(error)):
        raise error
