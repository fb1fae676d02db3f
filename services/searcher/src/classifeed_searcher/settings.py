"""Settings of the searcher."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET, ServiceSettings


class SearcherSettings(ServiceSettings):
    """Settings of the searcher, from variables CLASSIFEED_SEARCHER_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_SEARCHER_", frozen=True)

    receiver_address: str = Field(pattern=TARGET, description="gRPC address of the receiver, [dns:///]host:port.")
    data_dir: Path = Field(description="Folder of the indexes; must outlive a restart.")
    clients: str = Field(default="offers", description="Clients whose documents are indexed, separated by commas.")
    group: str = Field(default="searcher", description="Name of this replica as a reader, for lag displays.")
    batch_records: int = Field(default=5000, gt=0, description="Maximum number of documents in a commit of the index.")
    gather_s: float = Field(
        default=0.5,
        ge=0,
        description="Maximum linger after a commit of the index, in which documents of the next commit accumulate, in "
        "seconds.",
    )
    digest_interval_s: float = Field(
        default=600.0, gt=0, description="How often the whole index is compared with the registry, in seconds."
    )
    repair_interval_s: float = Field(
        default=3600.0,
        gt=0,
        description="Shortest time between two rebuilds of an index because it differed, in seconds.",
    )

    @property
    def client_list(self) -> list[str]:
        """The clients, without duplicates."""
        return list(dict.fromkeys(client.strip() for client in self.clients.split(",") if client.strip()))
