"""Terms of reviews: the lease of a text, the deadline, and the cost of an opinion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEASE_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """Terms for all projects.

    Attributes:
        deadline_s: age in seconds from which a review is late.
        opinion_cost: cost of one opinion, in the currency of the operator's accounts; 0: costs are not shown.
        time_zone: IANA name of the time zone that defines days.
        lease_s: seconds that a reviewer has a text before another reviewer may get it.
    """

    deadline_s: float
    opinion_cost: float
    time_zone: str
    lease_s: float = LEASE_S
