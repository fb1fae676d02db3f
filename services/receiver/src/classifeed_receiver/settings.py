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
        description="Largest accepted document, in bytes. Raise it for clients with larger documents; the topic of the "
        "index takes up to 1 MB.",
    )
    write_transactions: int = Field(
        default=2,
        ge=1,
        le=32,
        description="Maximum number of concurrent transactions that write. Raise it for a database with many cores.",
    )
    group_lifetime_s: float = Field(
        default=7 * _DAY_S,
        gt=0,
        description="Seconds for which an inactive consumer group delays the trimming of the queues. Raise it for a "
        "longer repair of readers, lower it for less space.",
    )
    failed_age_s: float = Field(
        default=30 * _DAY_S,
        gt=0,
        description="Seconds for which an element that could not be delivered is kept with its reason; longer while "
        "it is the stored version of its document. Raise it if people need more time to read it.",
    )
    tombstone_age_s: float = Field(
        default=30 * _DAY_S,
        gt=0,
        description="Seconds for which the tombstone of a deleted document is kept, so that no older version returns. "
        "Raise it if clients send documents again after a longer time.",
    )
