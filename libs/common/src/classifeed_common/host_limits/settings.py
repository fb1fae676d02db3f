"""Settings of services that download from users' hosts."""

from __future__ import annotations

from typing import Final

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from classifeed_common.host_limits.rates import HostPolicy

_LOWEST: Final = HostPolicy().lowest_rate


class HostRateSettings(BaseSettings):
    """Limits of requests per host."""

    host_first_rate: float = Field(
        default=2,
        ge=_LOWEST,
        description="Requests per second to a new host, over all processes. Lower it if many hosts refuse at first.",
    )
    host_highest_rate: float = Field(
        default=20,
        ge=_LOWEST,
        description="Largest number of requests per second to a host, over all processes; at least the first rate. "
        "Lower it if hosts complain.",
    )

    @model_validator(mode="after")
    def _check_rates(self) -> HostRateSettings:
        if self.host_highest_rate < self.host_first_rate:
            raise ValueError(
                f"HOST_HIGHEST_RATE={self.host_highest_rate:g} is below HOST_FIRST_RATE={self.host_first_rate:g}; "
                "raise the one or lower the other"
            )
        return self
