"""Settings of cleanweb."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import SettingsConfigDict

from classifeed_jobs import ServiceJobSettings


class Receiver(BaseModel, frozen=True):
    """Receiver of a service's callbacks.

    Attributes:
        url: full URL of the callback.
        audience: service that tokens are issued for.
    """

    url: str = Field(pattern=r"^https?://\S+$")
    audience: str = Field(min_length=1)


class CleanwebSettings(ServiceJobSettings):
    """Settings from environment variables CLASSIFEED_CLEANWEB_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_CLEANWEB_", frozen=True)

    receivers: dict[str, Receiver] = Field(
        default_factory=dict,
        description="Receivers of callbacks, as JSON: url and audience by <service>/<environment>; others are "
        "refused. Add each service that requests verdicts.",
    )
    rules_file: Path | None = Field(
        default=None,
        description="File of the automatic rules, read again when it changes; unset: the file that the service "
        "includes. Set it to change a rule without a release.",
    )
    auto_pass: bool = Field(
        default=False,
        description="Whether a text without findings and with a low score passes without a review. Turn it on if there "
        "are no reviewers.",
    )
    pass_score: float = Field(
        default=1,
        ge=0,
        le=1,
        description="Highest score of the model with which a text may pass without a review; 1: the score does not "
        "count, because the model rates too many clean texts as bad. Lower it if bad texts pass.",
    )
    review_deadline_s: float = Field(
        default=3600,
        gt=0,
        description="Age in seconds from which a waiting review counts as late. Set it to what you promise to sellers.",
    )
    opinion_cost: float = Field(
        default=0,
        ge=0,
        description="Cost of a reviewer's opinion, in the currency of your accounts; 0: no costs are shown. Set it to "
        "see what reviews cost.",
    )
    requests_days: int = Field(
        default=30, ge=1, description="Days that completed requests are kept. Lower it for less space."
    )
