"""Settings of offers."""

from __future__ import annotations

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET
from classifeed_jobs import ServiceJobSettings


class OffersSettings(ServiceJobSettings):
    """Settings from environment variables CLASSIFEED_OFFERS_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_OFFERS_", frozen=True)

    kafka_bootstrap: str = Field(min_length=1, description="Kafka brokers, host:port, comma-separated.")
    receiver_address: str = Field(pattern=TARGET, description="gRPC address of the receiver, [dns:///]host:port.")
    texts_approved_by_setting: bool = Field(
        default=False,
        description="Whether this setting approves every text, which each offer records; for suites without "
        "moderation. If false, a new text waits for its verdict.",
    )
    poll_batches: int = Field(
        default=32,
        ge=1,
        le=1000,
        description="Maximum requests that one transaction applies; a batch has up to 100 offers. Later requests wait.",
    )
    sweeps_at_once: int = Field(default=2, ge=1, le=16, description="Sweeps that this process runs at the same time.")
    guard_share_percent: int = Field(
        default=50,
        ge=1,
        le=100,
        description="Maximum share of a namespace's offers that a load may remove from the search, in percent. A load "
        "that would remove more is held until it is confirmed or rejected; 100: only loads without offers are held.",
    )
    guard_least_offers: int = Field(
        default=20,
        ge=1,
        description="A load that would remove fewer offers is not held for it, regardless of their share. Nor is a "
        "load that changes fewer prices, or makes fewer offers unavailable.",
    )
    guard_price_factor: float = Field(
        default=5,
        ge=0,
        description="A change of a price by this factor or more, up or down, waits until its load completes. The load "
        "is held if it changes at least guard_least_offers prices, and more than half of them by this factor. The "
        "factor is above 1; 0 turns the check off.",
    )
    guard_unavailable: bool = Field(
        default=True,
        description="Whether a load is held if it leaves no offer available and at least guard_least_offers were "
        "available before.",
    )
    history_days: int = Field(default=30, ge=8, description="Days that the records of superseded tasks are kept.")
    removed_days: int = Field(
        default=45,
        ge=31,
        description="Days that removed offers are kept; more than the receiver keeps its tombstones.",
    )
    text_wait_s: float = Field(
        default=900,
        gt=0,
        description="Seconds without a verdict after which a text is requested again; more than moderation takes.",
    )
    pictures: bool = Field(
        default=True,
        description="Whether pictures of offers are requested from the service of pictures; on or off. Off: documents "
        "have links only.",
    )
    picture_namespace: str = Field(
        default="offers",
        pattern=r"^[a-z][a-z0-9-]{0,31}$",
        description="Namespace in the service of pictures that holds the pictures of offers.",
    )
    picture_wait_s: float = Field(
        default=7200,
        gt=0,
        description="Seconds without a result after which a picture is requested again; more than a picture takes.",
    )
    picture_catch_up_rate: float = Field(
        default=50,
        gt=0,
        description="Offers per second and namespace, at most, whose pictures the catch-up job requests. It requests "
        "pictures that were never requested, and all of them after events of pictures were lost.",
    )
    picture_base_url: str = Field(
        default="",
        pattern=r"^(https?://.*[^/])?$",
        description="Prefix of /get/… in the addresses of stored pictures, without a trailing slash, such as "
        "https://pictures.example.com; empty: no prefix.",
    )
    picture_size: str = Field(
        default="large",
        pattern=r"^[a-z0-9][a-z0-9-]{0,31}$",
        description="Size of stored pictures that documents point to; orig: the original.",
    )
    picture_links: bool = Field(
        default=True,
        description="Whether documents contain the link of a picture until the picture is stored; on or off.",
    )
    jobs_lease_s: int = Field(
        default=20,
        ge=1,
        le=600,
        description="Seconds without a heartbeat after which another process takes over a sweep.",
    )
    lease_ttl_s: float = Field(
        default=10, gt=0, le=600, description="Seconds that a role of a dead process stays reserved for it."
    )

    receiver_check_s: float = Field(
        default=10,
        gt=0,
        le=600,
        description="Seconds between checks that the receiver still has what it acknowledged, while nothing is "
        "published.",
    )

    @field_validator("guard_price_factor")
    @classmethod
    def _must_be_a_move(cls, value: float) -> float:
        if 0 < value <= 1:
            raise ValueError("a factor of 1 does not change a price; set one above 1, or 0 for none")
        return value
