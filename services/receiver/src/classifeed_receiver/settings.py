"""Settings of the receiver."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import ServiceSettings

_DAY_S = 24 * 60 * 60


class ReceiverSettings(ServiceSettings):
    """Settings of the receiver, from variables CLASSIFEED_RECEIVER_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_RECEIVER_", frozen=True)

    document_limit_bytes: int = Field(
        default=512 * 1024,
        ge=1024,
        le=900_000,
        description="Largest accepted document, in bytes; the limit of the index's topic is 1 MB.",
    )
    compress_from_bytes: int = Field(
        default=2048, ge=0, description="Documents of at least this size are kept compressed, in bytes."
    )
    coalesce_s: float = Field(
        default=0.003, ge=0, le=0.1, description="How long a small push waits for others to commit with, in seconds."
    )
    coalesce_documents: int = Field(
        default=100, ge=1, le=500, description="Number of waiting documents that are written without further waiting."
    )
    write_transactions: int = Field(default=2, ge=1, le=32, description="Transactions that write at a time, at most.")
    write_limit_s: float = Field(
        default=8,
        gt=0,
        description="How long a write may take before its documents get RETRY, in seconds.",
    )
    epochs_refresh_s: float = Field(
        default=5, gt=0, description="How old the known epochs of a client may be, in seconds."
    )
    queue_poll_s: float = Field(
        default=0.25,
        gt=0,
        le=10,
        description="How often a waiting reader polls for commits of other replicas, in seconds.",
    )
    trim_interval_s: float = Field(default=5, gt=0, description="How often the queues are trimmed, in seconds.")
    trim_elements: int = Field(
        default=5000, ge=1, description="Elements of a shard that are trimmed at a time, at most."
    )
    group_lifetime_s: float = Field(
        default=7 * _DAY_S,
        gt=0,
        description="How long an inactive consumer group delays the trimming of the queues, in seconds.",
    )
    failed_age_s: float = Field(
        default=30 * _DAY_S,
        gt=0,
        description="How long an element that could not be delivered is kept with its reason, in seconds; longer while "
        "it is the stored version of its document.",
    )
    expire_interval_s: float = Field(default=1, gt=0, description="How often expired documents are polled, in seconds.")
    expire_documents: int = Field(default=500, ge=1, description="Documents that expire in one transaction, at most.")
    tombstone_age_s: float = Field(
        default=30 * _DAY_S,
        gt=0,
        description="How long the tombstone of a deleted document is kept, so that no older version returns, in "
        "seconds.",
    )
    abandoned_interval_s: float = Field(
        default=600,
        gt=0,
        description="How often documents of abandoned epochs are counted where there are such epochs, in seconds.",
    )
