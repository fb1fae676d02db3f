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
    """What pictures needs to know, from variables CLASSIFEED_PICTURES_*."""

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
        description="Rules for canonical URLs, read again when they change: a path or s3://bucket/key; empty: those "
        "that come with the service.",
    )
    spool_dir: Path = Field(
        default=Path(tempfile.gettempdir()) / "classifeed-pictures",
        description="Folder for files on their way, of this process alone.",
    )
    event_files_s: int = Field(
        default=60, ge=1, description="How often the bucket is listed for files of events, in seconds."
    )
    event_files_days: int = Field(
        default=30, ge=1, description="How long files of events are kept once they were taken, in days."
    )
    event_file_max_bytes: int = Field(
        default=1 << 30, ge=1024, description="Size of a file of events, at most, in bytes."
    )
    poll_records: int = Field(default=500, ge=1, le=5000, description="Events in a transaction, at most.")
    kafka_session_s: float = Field(
        default=10, ge=1, le=300, description="Silence after which a process loses its partitions, in seconds."
    )
    lease_ttl_s: float = Field(default=10, gt=0, description="Lease of what one process does at a time, in seconds.")
    jobs_lease_s: int = Field(default=60, ge=1, le=86400, description="Lease of jobs, in seconds.")
    order_timeout_s: float = Field(
        default=3600, gt=0, description="After which an order without a result is given again, in seconds."
    )
    delete_after_s: float = Field(
        default=86400,
        ge=0,
        description="How long after the first finding that a picture is unused a second one deletes it, in seconds.",
    )
    refresh_days: float = Field(
        default=30,
        ge=0,
        description="How long a held picture is not requested of its host again, at least, in days; 0: it never is. "
        "A host that promises a longer time is believed, up to four times this one; up to half is added by chance.",
    )
    waiting_days: int = Field(
        default=90, ge=1, description="How long requests are kept whose pictures could not be had, in days."
    )
    look_again_s: int = Field(
        default=60, ge=1, description="How often pictures are sought that are due for another attempt, in seconds."
    )
    rekey_s: int = Field(
        default=60, ge=1, description="How often it is checked whether the rules of canonical URLs differ, in seconds."
    )
    rekey_settle_s: int = Field(
        default=900,
        ge=0,
        description="How long other rules are in force before all keys count as theirs, in seconds: longer than their "
        "file takes to reach all processes, and events to be processed.",
    )
    offers_address: str = Field(
        default="127.0.0.1:50053", pattern=TARGET, description="gRPC address of offers, [dns:///]host:port."
    )
    compare_s: int = Field(
        default=86400, ge=1, description="How often pictures are sought that no offer uses, in seconds."
    )
    held_share_percent: float = Field(
        default=20, ge=0, le=100, description="Share of all URLs that may be found unused without a person, in percent."
    )
    held_least: int = Field(
        default=100, ge=0, description="URLs that may always be found unused without a person, however few there are."
    )
    backup_s: int = Field(default=3600, ge=1, description="How often the state is backed up, in seconds.")
    backups_kept: int = Field(default=24, ge=1, description="Complete backups of the state that are kept.")
    replica_dsn: SecretStr = Field(
        default=SecretStr(""), description="PostgreSQL where states are sought; empty: where they are written."
    )
    downloads: int = Field(
        default=160,
        ge=1,
        le=500,
        description="Downloads at once in a process, at most; those for one recipient hold half of them.",
    )
    decoders: int = Field(default=0, ge=0, le=64, description="Processes that decode pictures; 0: one for each core.")
    download_max_bytes: int = Field(default=20 << 20, ge=1024, description="Size of a picture, at most, in bytes.")
    download_total_s: float = Field(default=60, gt=0, description="How long a download may take, in seconds.")
    downloads_per_host: int = Field(
        default=2, ge=1, le=100, description="Downloads from one host at once, over all processes, at most."
    )
    obey_robots: bool = Field(
        default=False,
        description="Whether only those pictures are downloaded that the robots.txt of their host allows to programs.",
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
        default=64 << 20, ge=0, description="Versions of pictures that a process keeps in memory, in bytes."
    )
