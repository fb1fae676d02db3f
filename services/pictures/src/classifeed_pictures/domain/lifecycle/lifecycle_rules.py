"""Times of the life of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class LifecycleRules:
    """Times of the life of a picture.

    Attributes:
        order_timeout: After which an order without a result counts as lost.
        delete_after: How long after the first finding that a picture is unused a second one deletes it.
        mark_lifetime: After which a finding counts as the first one again: it may have been used in between.
        refresh_after: How long a held picture is not requested of its host again, at least; None: it never is.
    """

    order_timeout: timedelta = timedelta(hours=1)
    delete_after: timedelta = timedelta(hours=24)
    mark_lifetime: timedelta = timedelta(days=7)
    refresh_after: timedelta | None = timedelta(days=30)
