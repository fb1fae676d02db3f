"""Terms of reviews: for how long a text is leased, when it is late, and what an opinion costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """What the operator has set for all projects.

    Attributes:
        lease_s: how long a reviewer has a text before somebody else may get it.
        deadline_s: age from which a review is late.
        opinion_cost: of one opinion, in the currency of the operator's accounts; 0: costs are of no interest.
        time_zone: IANA name of the clocks by which days are counted.
    """

    lease_s: float
    deadline_s: float
    opinion_cost: float
    time_zone: str
