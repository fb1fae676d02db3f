"""Settings of the searcher."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET, ServiceSettings


class SearcherSettings(ServiceSettings):
    """Settings of the searcher, from variables CLASSIFEED_SEARCHER_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_SEARCHER_", frozen=True)

    receiver_address: str = Field(
        pattern=TARGET,
        description="gRPC address of the receiver, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    data_dir: Path = Field(description="Folder of the indexes; must outlive a restart. Set it to a persistent disk.")
    clients: str = Field(
        default="offers",
        description="Clients whose documents are indexed, separated by commas; without moderation there are no "
        "points. Add each client that pushes documents.",
    )
    group: str = Field(
        default="searcher",
        description="Name of this replica as a reader of the topics; displays of lag list replicas by it. Give each "
        "replica its own.",
    )
    digest_interval_s: float = Field(
        default=600.0,
        gt=0,
        description="How often the whole index is compared with the registry, in seconds; each comparison reads every "
        "row of the registry. Raise it for a large registry.",
    )

    @property
    def client_list(self) -> list[str]:
        """The clients, without duplicates."""
        return list(dict.fromkeys(client.strip() for client in self.clients.split(",") if client.strip()))
