"""Times of the lifecycle of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class LifecycleRules:
    """Times of the lifecycle of a picture.

    Attributes:
        order_timeout: time after which an order without a result counts as lost.
        delete_after: time between the first and the second finding that a picture is unused; the second one deletes it.
        mark_lifetime: time after which a finding counts as the first one again, since the picture may have been used
            meanwhile.
        refresh_after: minimum time until the host of a held picture is requested again; None: never.
    """

    order_timeout: timedelta = timedelta(hours=1)
    delete_after: timedelta = timedelta(hours=24)
    mark_lifetime: timedelta = timedelta(days=7)
    refresh_after: timedelta | None = timedelta(days=30)
