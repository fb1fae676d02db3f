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
        description="Bucket of the pictures; no other service has files in it.",
    )
    canonical_rules: str = Field(
        default="",
        description="Rules for canonical URLs, reloaded when they change: a path or s3://bucket/key; empty: the "
        "packaged ones.",
    )
    spool_dir: Path = Field(
        default=Path(tempfile.gettempdir()) / "classifeed-pictures",
        description="Folder for temporary files; only this process uses it.",
    )
    event_files_s: int = Field(
        default=60, ge=1, description="Seconds between two listings of event files in the bucket."
    )
    event_files_days: int = Field(default=30, ge=1, description="Days for which processed event files are kept.")
    event_file_max_bytes: int = Field(default=1 << 30, ge=1024, description="Maximum size of an event file, in bytes.")
    poll_records: int = Field(default=500, ge=1, le=5000, description="Maximum number of events in a transaction.")
    kafka_session_s: float = Field(default=10, ge=1, le=300, description="Kafka session timeout, in seconds.")
    lease_ttl_s: float = Field(default=10, gt=0, description="Lease of the relay, in seconds.")
    jobs_lease_s: int = Field(default=60, ge=1, le=86400, description="Lease of jobs, in seconds.")
    order_timeout_s: float = Field(
        default=3600, gt=0, description="Seconds after which an order without a result is sent again."
    )
    delete_after_s: float = Field(
        default=86400,
        ge=0,
        description="Seconds between the first finding that a picture is unused and a second one that deletes it.",
    )
    refresh_days: float = Field(
        default=30,
        ge=0,
        description="Minimum days between two refreshes of a held picture; 0: pictures are never refreshed. If a host "
        "promises a longer time, that counts, up to four times this one; up to half of it is added.",
    )
    waiting_days: int = Field(default=90, ge=1, description="Days for which requests are kept whose pictures failed.")
    look_again_s: int = Field(
        default=60, ge=1, description="Seconds between two searches for pictures that are due for a retry."
    )
    rekey_s: int = Field(
        default=60, ge=1, description="Seconds between two checks whether the rules of canonical URLs have changed."
    )
    rekey_settle_s: int = Field(
        default=900,
        ge=0,
        description="Seconds for which new rules must be in force before all keys count as made by them. It must be "
        "longer than the file takes to reach all processes and events take to be processed.",
    )
    offers_address: str = Field(
        default="127.0.0.1:50053", pattern=TARGET, description="gRPC address of offers, [dns:///]host:port."
    )
    compare_s: int = Field(
        default=86400, ge=1, description="Seconds between two searches for pictures that no offer uses."
    )
    held_share_percent: float = Field(
        default=20,
        ge=0,
        le=100,
        description="Share of unused URLs that needs no confirmation, in percent.",
    )
    held_least: int = Field(default=100, ge=0, description="Number of unused URLs that never needs a confirmation.")
    backup_s: int = Field(default=3600, ge=1, description="Seconds between two backups of the state.")
    backups_kept: int = Field(default=24, ge=1, description="Number of complete backups that are kept.")
    replica_dsn: SecretStr = Field(
        default=SecretStr(""), description="PostgreSQL replica for searches of due states; empty: the primary."
    )
    downloads: int = Field(
        default=160,
        ge=1,
        le=500,
        description="Maximum number of concurrent downloads in a process; one recipient gets at most half of them.",
    )
    decoders: int = Field(default=0, ge=0, le=64, description="Number of decoding processes; 0: one per core.")
    download_max_bytes: int = Field(default=20 << 20, ge=1024, description="Maximum size of a picture, in bytes.")
    download_total_s: float = Field(default=60, gt=0, description="Maximum duration of a download, in seconds.")
    downloads_per_host: int = Field(
        default=2, ge=1, le=100, description="Maximum number of concurrent downloads from a host, over all processes."
    )
    obey_robots: bool = Field(
        default=False,
        description="Whether to download only pictures that the robots.txt of their host allows.",
    )
    allow_loopback: bool = Field(
        default=False, description="Whether pictures may be downloaded from this machine; for tests and demos."
    )
    proxy: SecretStr | None = Field(
        default=None, description="Proxy for downloads, http://[user:password@]host:port; unset: none."
    )
    http_auth: Literal["off", "on"] = Field(
        default="off",
        validation_alias="CLASSIFEED_HTTP_AUTH",
        description="on: HTTP requires a service token on the loopback too, except for pictures themselves.",
    )
    cache_bytes: int = Field(
        default=64 << 20, ge=0, description="Maximum size of the cache of versions in a process, in bytes."
    )
