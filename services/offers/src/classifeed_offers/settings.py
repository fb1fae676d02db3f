"""Settings of offers."""

from __future__ import annotations

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET
from classifeed_jobs import ServiceJobSettings


class OffersSettings(ServiceJobSettings):
    """What offers needs to know, from variables CLASSIFEED_OFFERS_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_OFFERS_", frozen=True)

    kafka_bootstrap: str = Field(min_length=1, description="Kafka brokers, host:port, comma-separated.")
    receiver_address: str = Field(pattern=TARGET, description="gRPC address of the receiver, [dns:///]host:port.")
    texts_approved_by_setting: bool = Field(
        default=False,
        description="Whether every text is approved by this setting, which each offer records: for suites without "
        "moderation. Otherwise a new text waits for its verdict.",
    )
    poll_batches: int = Field(
        default=32,
        ge=1,
        le=1000,
        description="Maximum requests that are applied in one transaction; a batch has up to 100 offers. Later ones "
        "wait.",
    )
    sweeps_at_once: int = Field(default=2, ge=1, le=16, description="Sweeps that this process runs at the same time.")
    guard_share_percent: int = Field(
        default=50,
        ge=1,
        le=100,
        description="A load that would leave more of a namespace's offers out of the search than this share is held "
        "until it is confirmed or rejected, in percent; 100: only loads without any offer are held.",
    )
    guard_least_offers: int = Field(
        default=20,
        ge=1,
        description="A load that would remove fewer offers is not held for it, whatever their share; nor is one that "
        "changes fewer prices, or makes fewer offers unavailable.",
    )
    guard_price_factor: float = Field(
        default=5,
        ge=0,
        description="A change of a price by this factor or more, up or down, waits until its load completes. The load "
        "is held if more than half of the prices that it changes move by this factor, and at least as many as "
        "guard_least_offers; above 1, or 0: prices are not checked.",
    )
    guard_unavailable: bool = Field(
        default=True,
        description="Whether a load is held of which no offer is available, and at least as many as "
        "guard_least_offers were.",
    )
    history_days: int = Field(
        default=30, ge=8, description="How long the records of superseded tasks are kept, in days."
    )
    removed_days: int = Field(
        default=45,
        ge=31,
        description="How long removed offers are kept, in days: longer than the receiver keeps its tombstones.",
    )
    text_wait_s: float = Field(
        default=900,
        gt=0,
        description="After this time without a verdict a text is requested again, in seconds; longer than moderation "
        "takes.",
    )
    pictures: bool = Field(
        default=True,
        description="Whether pictures of offers are requested from the service of pictures; on or off. Off: offers "
        "have links alone.",
    )
    picture_namespace: str = Field(
        default="offers",
        pattern=r"^[a-z][a-z0-9-]{0,31}$",
        description="Namespace of the service of pictures that keeps those of offers.",
    )
    picture_wait_s: float = Field(
        default=7200,
        gt=0,
        description="After this time without a result a picture is requested again, in seconds; longer than a picture "
        "takes.",
    )
    picture_catch_up_rate: float = Field(
        default=50,
        gt=0,
        description="Offers of a namespace whose pictures a pass requests a second, at most: of those from before "
        "pictures, and of all once events of pictures were lost.",
    )
    picture_base_url: str = Field(
        default="",
        pattern=r"^(https?://.*[^/])?$",
        description="What comes before /get/… in addresses of stored pictures, without a slash at its end, such as "
        "https://pictures.example.com; empty: nothing.",
    )
    picture_size: str = Field(
        default="large",
        pattern=r"^[a-z0-9][a-z0-9-]{0,31}$",
        description="Size of stored pictures that documents name; orig: the original.",
    )
    picture_links: bool = Field(
        default=True,
        description="Whether documents have the link of a picture until it is stored; on or off.",
    )
    jobs_lease_s: int = Field(
        default=20,
        ge=1,
        le=600,
        description="After this time without a heartbeat a sweep is given to another process, in seconds.",
    )
    lease_ttl_s: float = Field(
        default=10, gt=0, le=600, description="How long a role of a dead process stays reserved for it, in seconds."
    )

    receiver_check_s: float = Field(
        default=10,
        gt=0,
        le=600,
        description="How often, while nothing is published, the receiver is checked for what it acknowledged, in "
        "seconds.",
    )

    @field_validator("guard_price_factor")
    @classmethod
    def _must_be_a_move(cls, value: float) -> float:
        if 0 < value <= 1:
            raise ValueError("a factor of 1 does not change a price; set one above 1, or 0 for none")
        return value
