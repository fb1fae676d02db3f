from __future__ import annotations

import pytest
from pydantic import ValidationError

from classifeed_common.host_limits.settings import HostRateSettings


def test_a_highest_rate_below_the_first_is_refused_in_words() -> None:
    with pytest.raises(ValidationError, match="HOST_HIGHEST_RATE=5 is below HOST_FIRST_RATE=8; raise the one"):
        HostRateSettings(host_first_rate=8, host_highest_rate=5)
    assert HostRateSettings(host_first_rate=8, host_highest_rate=8).host_first_rate == 8


def test_rates_that_would_never_ask_are_refused() -> None:
    with pytest.raises(ValidationError):
        HostRateSettings(host_first_rate=0.01)
