"""Settings of pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from classifeed_common.host_limits.settings import HostRateSettings
from classifeed_common.settings import TARGET
from classifeed_jobs import ServiceJobSettings


class PicturesSettings(HostRateSettings, ServiceJobSettings):
    """Settings of pictures, from variables CLASSIFEED_PICTURES_*."""

    model_config = SettingsConfigDict(
        env_prefix="CLASSIFEED_PICTURES_", frozen=True, validate_by_name=True, validate_by_alias=True
    )

    bucket: str = Field(
        default="classifeed-pictures",
        pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
        description="Bucket of the pictures; no other service has files in it. Set it to the name that your "
        "object store gives.",
    )
    canonical_rules: str = Field(
        default="",
        description="Rules for canonical URLs, reloaded when they change: a path or s3://bucket/key; empty: the "
        "packaged ones. Set it if a host gives one picture many URLs.",
    )
    spool_dir: Path = Field(
        default=Path(tempfile.gettempdir()) / "classifeed-pictures",
        description="Folder for temporary files of this process only. Set it to a disk with room for all "
        "concurrent downloads.",
    )
    event_files_days: int = Field(
        default=30,
        ge=1,
        description="Days for which processed event files are kept. Raise it if senders check them later.",
    )
    jobs_lease_s: int = Field(
        default=60,
        ge=1,
        le=86400,
        description="Lease of jobs, in seconds. Lower it if jobs of dead processes must continue sooner.",
    )
    delete_after_s: float = Field(
        default=86400,
        ge=0,
        description="Seconds between the first finding that a picture is unused and a second one that deletes "
        "it. Raise it if offers often come back after a pause.",
    )
    refresh_days: float = Field(
        default=30,
        ge=0,
        description="Minimum days between two refreshes of a held picture; 0: pictures are never refreshed. If a host "
        "promises a longer time, that counts, up to four times this one; up to half of it is added. Lower it if "
        "sellers replace pictures under one URL.",
    )
    waiting_days: int = Field(
        default=90,
        ge=1,
        description="Days for which requests are kept whose pictures failed. Lower it if they fill the database.",
    )
    look_again_s: int = Field(
        default=60,
        ge=1,
        description="Seconds between two searches for pictures that are due for a retry. Raise it if they load "
        "the database.",
    )
    offers_address: str = Field(
        default="127.0.0.1:50053",
        pattern=TARGET,
        description="gRPC address of offers, [dns:///]host:port. Your network decides; dns:/// balances over replicas.",
    )
    compare_s: int = Field(
        default=86400,
        ge=1,
        description="Seconds between two searches for pictures that no offer uses. Raise it if exports of URLs "
        "load offers too much.",
    )
    backup_s: int = Field(
        default=3600, ge=1, description="Seconds between two backups of the state. Lower it to lose less in a disaster."
    )
    backups_kept: int = Field(
        default=24,
        ge=1,
        description="Number of complete backups that are kept. Raise it to be able to go back further.",
    )
    replica_dsn: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL replica for searches of due states; empty: the primary. Set it to relieve the primary.",
    )
    downloads: int = Field(
        default=160,
        ge=1,
        le=500,
        description="Maximum number of concurrent downloads in a process; one recipient gets at most half of them. "
        "Memory and network of the machine decide.",
    )
    decoders: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Number of decoding processes; 0: one per core. Lower it if the machine has other work.",
    )
    download_max_bytes: int = Field(
        default=20 << 20, ge=1024, description="Maximum size of a picture, in bytes: part of the contract with sellers."
    )
    downloads_per_host: int = Field(
        default=2,
        ge=1,
        le=100,
        description="Maximum number of concurrent downloads from a host, over all processes. Lower it if hosts "
        "complain.",
    )
    obey_robots: bool = Field(
        default=False,
        description="Whether to download only pictures that the robots.txt of their host allows; your agreements "
        "with sellers decide.",
    )
    allow_loopback: bool = Field(
        default=False,
        description="Whether pictures may be downloaded from this machine. Turn it on for tests and demos, never in "
        "production.",
    )
    proxy: SecretStr | None = Field(
        default=None,
        description="Proxy for downloads, http://[user:password@]host:port; unset: none. Set it if the machine has no "
        "direct access to the internet.",
    )
    http_auth: Literal["off", "on"] = Field(
        default="off",
        validation_alias="CLASSIFEED_HTTP_AUTH",
        description="on: HTTP requires a service token on the loopback too, except for pictures themselves. Turn it "
        "on if other users share the machine.",
    )
    cache_bytes: int = Field(
        default=64 << 20,
        ge=0,
        description="Maximum size of the cache of versions in a process, in bytes. Raise it if the machine has "
        "memory to spare.",
    )
