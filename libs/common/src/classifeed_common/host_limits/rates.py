"""The request rate of a host, adapted to its responses: additive increase, multiplicative decrease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_common.fetch.permits import Outcome

_FLOOR_S: Final = 0.001  # covers the rounding of clocks


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Limits of requests to one host, over all processes. Rates are requests per second.

    Attributes:
        first_rate: rate of a new host.
        lowest_rate: lower bound of the rate of a host that refuses.
        highest_rate: upper bound of the rate of a host that responds.
        step: growth of the rate per second in which it was used up; at most half of the rate at a time.
        backoff: factor applied to the rate at which a refused request was sent.
        at_a_time: largest number of requests under way.
        send_within_s: seconds after which an unused permit is void. A request may be sent that much later than the
            table says. The rate is still kept in every window of a second, so permits are given that share more slowly.
        max_wait_s: longest wait of a caller for a permit, in seconds.
        hold_s: lifetime of a permit without renewal, in seconds; renewed after each third of it. A dead process holds
            up a host for no longer than this.
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
        """Age in seconds at which a permit in use is renewed: two attempts may fail."""
        return self.hold_s / 3

    @property
    def window_s(self) -> float:
        """Window in seconds for as many permits as requests may be sent per second."""
        return 1 + self.send_within_s + _FLOOR_S


@dataclass(frozen=True, slots=True)
class RateChange:
    """A change of a rate, applied even if others have changed the rate meanwhile.

    Attributes:
        step: increase.
        ceiling: upper bound of the result; None: none.
    """

    step: float = 0.0
    ceiling: float | None = None

    def and_then(self, later: RateChange) -> RateChange:
        """Return both changes as one; a ceiling also bounds a later step."""
        ceilings = [each for each in (self.ceiling, later.ceiling) if each is not None]
        return RateChange(self.step + later.step, min(ceilings, default=None))

    def applied_to(self, rate: float, policy: HostPolicy) -> float:
        """Return the rate after the change; the statement `draw` computes the same."""
        ceiling = policy.highest_rate if self.ceiling is None else self.ceiling
        return max(policy.lowest_rate, min(policy.highest_rate, rate + self.step, ceiling))


def rate_change(rate: float, outcome: Outcome, policy: HostPolicy) -> RateChange:
    """Return the change of a host's rate for the outcome of a request.

    Requests that were under way together and are refused slow their host only once: each sets the same ceiling, from
    the rate at which they were sent.
    """
    if outcome is Outcome.OK:
        return RateChange(step=min(policy.step / rate, rate / 2))
    if outcome is Outcome.SLOW_DOWN:
        return RateChange(ceiling=max(policy.lowest_rate, rate * policy.backoff))
    return RateChange()


def spacing_s(rate: float, policy: HostPolicy) -> float:
    """Return the time between two permits: no second has more than `rate` requests, rounded down to whole ones."""
    return policy.window_s / (rate if rate < 1 else rate // 1)
