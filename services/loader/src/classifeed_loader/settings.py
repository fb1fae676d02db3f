"""Settings of the loader."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import ServiceSettings


class LoaderSettings(ServiceSettings):
    """What the loader needs to know, from variables CLASSIFEED_LOADER_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_LOADER_", frozen=True)

    processor_address: str = Field(description="gRPC address of the processor, host:port.")
    secrets_file: Path | None = Field(
        default=None,
        description="File of the keys that open credentials of feeds; unset: feeds with credentials fail.",
    )
    spool_dir: Path = Field(
        default=Path(tempfile.gettempdir()) / "classifeed-loader",
        description="Folder for files on their way to the object store; each takes its size there meanwhile.",
    )
    concurrency: int = Field(default=8, ge=1, le=256, description="Fetches that one process runs at a time.")
    min_interval_s: float = Field(
        default=600, gt=0, description="Shortest time between two scheduled fetches of a feed, in seconds."
    )
    backoff_base_s: float = Field(
        default=60,
        gt=0,
        description="After n failures a feed waits 2^n times this, in seconds; its interval at least, a day at most.",
    )
    history_fetches: int = Field(default=200, ge=1, description="Ended fetches that are kept of each feed.")
    fetch_max_bytes: int = Field(default=2 * 1024**3, gt=0, description="Largest file that is fetched, in bytes.")
    fetch_total_s: float = Field(default=1800, gt=0, description="Longest time that a download may take, in seconds.")
    proxy: SecretStr | None = Field(
        default=None, description="Proxy for downloads, http://[user:password@]host:port; unset: none."
    )
    allow_loopback: bool = Field(
        default=False, description="Let feeds come from this machine too: for tests and demos, never in production."
    )
    lease_ttl_s: float = Field(
        default=10, gt=0, description="How long another replica waits before it takes over the schedule, in seconds."
    )
    heartbeat_s: float = Field(
        default=5, gt=0, le=20, description="How often a process says that its jobs live, in seconds."
    )
    jobs_lease_s: int = Field(
        default=20, ge=3, le=600, description="After this silence a fetch is given to another process, in seconds."
    )
