"""Settings of offers."""

from __future__ import annotations

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET
from classifeed_jobs import ServiceJobSettings


class OffersSettings(ServiceJobSettings):
    """Settings from environment variables CLASSIFEED_OFFERS_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_OFFERS_", frozen=True)

    kafka_bootstrap: str = Field(
        min_length=1, description="Kafka brokers, host:port, comma-separated. Set it to your cluster."
    )
    receiver_address: str = Field(
        pattern=TARGET,
        description="gRPC address of the receiver, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    texts_approved_by_setting: bool = Field(
        default=False,
        description="Whether this setting approves every text, which each offer records. Set it in a suite without "
        "moderation; otherwise a new text waits for its verdict.",
    )
    guard_share_percent: int = Field(
        default=50,
        ge=1,
        le=100,
        description="Maximum share of a namespace's offers that a load may remove from the search, in percent. A load "
        "that would remove more is held until it is confirmed or rejected; 100: only loads without offers are held. "
        "Raise it for sellers whose goods change often.",
    )
    guard_least_offers: int = Field(
        default=20,
        ge=1,
        description="A load that would remove fewer offers is not held for it, regardless of their share. Nor is a "
        "load that changes fewer prices, or makes fewer offers unavailable. Raise it if people decide about too many "
        "small loads.",
    )
    guard_price_factor: float = Field(
        default=5,
        ge=0,
        description="A change of a price by this factor or more, up or down, waits until its load completes. The load "
        "is held if it changes at least guard_least_offers prices, and more than half of them by this factor. The "
        "factor is above 1; 0 turns the check off. Raise it for goods with volatile prices.",
    )
    guard_unavailable: bool = Field(
        default=True,
        description="Whether a load is held if it leaves no offer available and at least guard_least_offers were "
        "available before. Turn it off for sellers who close for a season.",
    )
    jobs_lease_s: int = Field(
        default=20,
        ge=1,
        le=600,
        description="Seconds without a heartbeat after which another process takes over a sweep. Raise it for machines "
        "and databases that pause for longer.",
    )
    history_days: int = Field(
        default=30, ge=8, description="Days that the records of superseded tasks are kept. Lower it to save space."
    )
    removed_days: int = Field(
        default=45,
        ge=31,
        description="Days that removed offers are kept. They must be more than the receiver keeps its tombstones; "
        "raise both together.",
    )
    pictures: bool = Field(
        default=True,
        description="Whether pictures of offers are requested from the service of pictures; on or off. Turn it off "
        "without that service: documents then have links only.",
    )
    picture_base_url: str = Field(
        default="",
        pattern=r"^(https?://.*[^/])?$",
        description="Prefix of /get/… in the addresses of stored pictures, without a trailing slash, such as "
        "https://pictures.example.com; empty: no prefix. Set it to the public address of pictures or of your CDN.",
    )

    @field_validator("guard_price_factor")
    @classmethod
    def _must_be_a_move(cls, value: float) -> float:
        if 0 < value <= 1:
            raise ValueError("a factor of 1 does not change a price; set one above 1, or 0 for none")
        return value
