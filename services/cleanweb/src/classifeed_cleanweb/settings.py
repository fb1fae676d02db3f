"""Settings of cleanweb."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_settings import SettingsConfigDict

from classifeed_jobs import ServiceJobSettings


class Receiver(BaseModel, frozen=True):
    """Where the callbacks of a service go.

    Attributes:
        url: whole address of its callback.
        audience: service that the token is made for.
    """

    url: str = Field(pattern=r"^https?://\S+$")
    audience: str = Field(min_length=1)


class CleanwebSettings(ServiceJobSettings):
    """What cleanweb needs to know, from variables CLASSIFEED_CLEANWEB_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_CLEANWEB_", frozen=True)

    receivers: dict[str, Receiver] = Field(
        default_factory=dict,
        description="Receivers of callbacks, as JSON: url and audience by <service>/<environment>; others are refused.",
    )
    rules_file: Path | None = Field(
        default=None,
        description="File of the automatic rules, read again when it changes; unset: the one that comes with the "
        "service.",
    )
    auto_pass: bool = Field(
        default=False,
        description="Whether a text in which the rules find nothing and whose score is low passes without a review.",
    )
    pass_score: float = Field(
        default=1,
        ge=0,
        le=1,
        description="Highest score of the model with which a text may pass without a review; 1: the score does not "
        "count, as it still rates too many clean texts as bad.",
    )
    kept_reviews_s: int = Field(
        default=30 * 24 * 3600, ge=0, description="How long reviews are kept for equal texts, in seconds."
    )
    lease_s: float = Field(
        default=300,
        gt=0,
        description="How long a reviewer holds a text before another reviewer may get it, in seconds.",
    )
    review_deadline_s: float = Field(
        default=3600, gt=0, description="Age from which a review that waits is shown as late, in seconds."
    )
    opinion_cost: float = Field(
        default=0,
        ge=0,
        description="Cost of an opinion of a reviewer, in the currency of your accounts; 0: no costs are shown.",
    )
    give_up_s: float = Field(
        default=72 * 3600, gt=0, description="How long a callback is retried before it is given up, in seconds."
    )
    requests_days: int = Field(default=30, ge=1, description="How long completed requests are kept, in days.")
    requests_s: float = Field(
        default=5000, gt=0, description="Maximum requests per second of one caller; more get 429."
    )
    lease_ttl_s: float = Field(default=10, gt=0, description="Lease of what one process does at a time, in seconds.")
