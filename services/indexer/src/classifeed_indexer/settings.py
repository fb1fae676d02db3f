"""Settings of the indexer."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET, ServiceSettings


class IndexerSettings(ServiceSettings):
    """Settings of the indexer, from variables CLASSIFEED_INDEXER_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_INDEXER_", frozen=True)

    receiver_address: str = Field(
        pattern=TARGET,
        description="gRPC address of the receiver, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    clients: str = Field(
        default="offers",
        pattern=r"^[a-z][a-z0-9_]{0,31}(,[a-z][a-z0-9_]{0,31})*$",
        description="Clients whose documents are delivered, comma-separated without blanks. Add each client that "
        "pushes documents.",
    )
    lease_ttl_s: float = Field(
        default=10,
        ge=0.5,
        le=300,
        description="Seconds for which the shards of a dead process stay reserved for it. Raise it if a slow database "
        "makes processes lose shards.",
    )

    @property
    def client_list(self) -> list[str]:
        """The clients, without duplicates."""
        return list(dict.fromkeys(self.clients.split(",")))
