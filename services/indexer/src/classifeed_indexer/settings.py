"""Settings of the indexer."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET, ServiceSettings


class IndexerSettings(ServiceSettings):
    """Settings of the indexer, from variables CLASSIFEED_INDEXER_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_INDEXER_", frozen=True)

    receiver_address: str = Field(pattern=TARGET, description="gRPC address of the receiver, [dns:///]host:port.")
    clients: str = Field(
        default="offers",
        pattern=r"^[a-z][a-z0-9_]{0,31}(,[a-z][a-z0-9_]{0,31})*$",
        description="Clients whose documents are delivered, comma-separated without blanks.",
    )
    group: str = Field(
        default="search",
        pattern="^[a-z][a-z0-9_.-]{0,63}$",
        description="Consumer group; processes of one group share the shards, groups are independent.",
    )
    lease_ttl_s: float = Field(
        default=10,
        ge=0.5,
        le=300,
        description="How long the shards of a dead process stay reserved for it, in seconds.",
    )
    read_elements: int = Field(default=100, ge=1, le=1000, description="Elements of a queue and shard read at a time.")
    read_wait_s: float = Field(
        default=2, ge=0, le=10, description="How long a read waits at the receiver for new elements, in seconds."
    )
    refill_documents: int = Field(
        default=1000, ge=1, le=5000, description="Documents of a shard that a step of a refill puts into its queue."
    )
    report_interval_s: float = Field(
        default=1, gt=0, description="How often moved offsets are reported to the receiver, in seconds."
    )
    heartbeat_s: float = Field(default=60, gt=0, description="How often unchanged offsets are reported, in seconds.")

    @property
    def client_list(self) -> list[str]:
        """The clients, without duplicates."""
        return list(dict.fromkeys(self.clients.split(",")))
