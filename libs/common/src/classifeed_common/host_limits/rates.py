"""How fast a host gets requests, by its responses: additive increase, multiplicative decrease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_common.fetch.permits import Outcome

_FLOOR_S: Final = 0.001  # for what the clocks round off


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Bounds of requests to one host, over all processes. Rates are requests per second.

    Attributes:
        first_rate: Of a host that is not known yet.
        lowest_rate: Below which a host that refuses is not slowed.
        highest_rate: Above which a host that responds gets no requests.
        step: How much the rate grows in a second in which it was used up; a half more is the most at a time.
        backoff: Factor of the rate at which a refused request was sent.
        at_a_time: How many requests are under way.
        send_within_s: A permit that is not used for so long is void: sending is that much later than the table says.
            The rate is kept in windows of a second all the same, so requests come that share more slowly.
        max_wait_s: How long a caller may wait for a permit.
        hold_s: How long a permit lasts that its process does not renew; it does so after each third of it. So a process
            that dies holds up a host for no longer.
    """

    first_rate: float = 2
    lowest_rate: float = 0.1
    highest_rate: float = 20
    step: float = 0.5
    backoff: float = 0.5
    at_a_time: int = 4
    send_within_s: float = 0.1
    max_wait_s: float = 5
    hold_s: float = 60

    def __post_init__(self) -> None:
        if not 0 < self.lowest_rate <= self.first_rate <= self.highest_rate:
            raise ValueError(f"rates of hosts must be 0 < lowest <= first <= highest, not {self}")
        if not 0 < self.backoff < 1 or self.step <= 0 or self.at_a_time < 1:
            raise ValueError(f"0 < backoff < 1, step > 0 and at_a_time >= 1 are needed, not {self}")
        if self.send_within_s <= 0 or self.max_wait_s < 0 or self.hold_s <= 0:
            raise ValueError(f"send_within_s and hold_s must be above 0, max_wait_s not below it: {self}")

    @property
    def renew_s(self) -> float:
        """After which a permit that is still needed is renewed: two attempts may fail."""
        return self.hold_s / 3

    @property
    def window_s(self) -> float:
        """In which as many permits are given as requests may be sent in a second."""
        return 1 + self.send_within_s + _FLOOR_S


@dataclass(frozen=True, slots=True)
class RateChange:
    """What an outcome does to a rate that others may have changed meanwhile.

    Attributes:
        step: Is added.
        ceiling: Is not exceeded; None: no further bound.
    """

    step: float = 0.0
    ceiling: float | None = None

    def and_then(self, later: RateChange) -> RateChange:
        """Return what both do together; of a step after a ceiling no more is left than the ceiling."""
        ceilings = [each for each in (self.ceiling, later.ceiling) if each is not None]
        return RateChange(self.step + later.step, min(ceilings, default=None))

    def applied_to(self, rate: float, policy: HostPolicy) -> float:
        """Return the rate after the change; the statement `draw` does the same."""
        ceiling = policy.highest_rate if self.ceiling is None else self.ceiling
        return max(policy.lowest_rate, min(policy.highest_rate, rate + self.step, ceiling))


def rate_change(rate: float, outcome: Outcome, policy: HostPolicy) -> RateChange:
    """Return what the outcome of a request says of the rate at which it was sent.

    Requests that were under way together and are refused slow their host once, not once each: the ceiling of all is
    that of the rate which they were sent at.
    """
    if outcome is Outcome.OK:
        return RateChange(step=min(policy.step / rate, rate / 2))
    if outcome is Outcome.SLOW_DOWN:
        return RateChange(ceiling=max(policy.lowest_rate, rate * policy.backoff))
    return RateChange()


def spacing_s(rate: float, policy: HostPolicy) -> float:
    """Return the time between two permits: no second has more than `rate` requests, rounded down to whole ones."""
    return policy.window_s / (rate if rate < 1 else rate // 1)
