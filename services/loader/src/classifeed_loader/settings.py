"""Settings of the loader."""

from __future__ import annotations

import tempfile
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from classifeed_common.host_limits.settings import HostRateSettings
from classifeed_common.settings import TARGET, ServiceSettings
from classifeed_common.telemetry.log_settings import LogFileSettings, ZoneName
from classifeed_common.zones import find_zone
from classifeed_jobs import JobSettings

_HAND_BACK_S: Final = 15.0
# Jobs that run for longer are handed back: another process starts them again.
_RUN_GRACE_S: Final = 30.0


class Hosting(LogFileSettings, JobSettings):
    """The variables without a prefix, of the job engine and of the process that hosts it."""

    app_host: str = Field(
        default="127.0.0.1",
        description="Address on which HTTP listens; except on the loopback, HTTP requires service tokens. Set it to "
        "be reachable from other machines.",
    )
    app_port: int = Field(
        default=8081, ge=0, le=65535, description="Port of HTTP; 0: any free one. Set it if the port is taken."
    )
    app_environment: str = Field(
        default="", description="Name of the installation, shown on /info. Set it to tell installations apart."
    )
    debug: bool = Field(default=False, description="Log everything. Turn it on to find a fault.")
    classifeed_http_auth: Literal["on", "off"] = Field(
        default="off",
        description="Whether HTTP requires the operator's service token on the loopback too; elsewhere it always "
        "does. Turn it on if other users share the machine.",
    )

    @property
    def http_listen(self) -> str:
        """host:port of HTTP."""
        host = f"[{self.app_host}]" if ":" in self.app_host else self.app_host
        return f"{host}:{self.app_port}"


class LoaderSettings(HostRateSettings, ServiceSettings):
    """Settings of the loader, from variables CLASSIFEED_LOADER_*; these override variables without the prefix."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_LOADER_", frozen=True)

    hosting: Hosting = Field(
        default_factory=Hosting.load, description="Variables without a prefix, all of them as JSON."
    )
    drain_grace_s: float = Field(
        default=45,
        ge=0,
        le=3700,
        description="Seconds for which calls and roles may continue after SIGTERM. Keep it below the time after which "
        "your orchestrator kills the process.",
    )

    log_time_zone: ZoneName = Field(
        default="UTC",
        description="Time zone of logs and of metrics in files: an IANA name. Unset: TIMEZONE, if that is set. Set it "
        "if logs of several services are read together.",
    )
    processor_address: str = Field(
        pattern=TARGET,
        description="gRPC address of the processor, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    secrets_file: Path | None = Field(
        default=None,
        description="File with the keys that decrypt credentials of feeds; unset: feeds with credentials fail. Set it "
        "to the file of the api.",
    )
    spool_dir: Path = Field(
        default=Path(tempfile.gettempdir()) / "classifeed-loader",
        description="Folder for files until they are in the object store. Set it to a disk with space for all running "
        "fetches.",
    )
    concurrency: int = Field(
        default=8,
        ge=1,
        le=256,
        description="Maximum number of concurrent fetches in a process, at most half of them for one seller; "
        "WORKERS_JSON takes precedence. Network and spool folder of the machine decide.",
    )
    min_interval_s: float = Field(
        default=600,
        gt=0,
        description="Shortest time between two scheduled fetches of a feed, in seconds; the same as the api's. Raise "
        "it for fewer requests to sites.",
    )
    backoff_base_s: float = Field(
        default=60,
        gt=0,
        description="After n failures a feed waits 2^n times this, in seconds; at least its interval, at most a day. "
        "Raise it to spare sites that fail.",
    )
    history_fetches: int = Field(
        default=200, ge=1, description="Number of completed fetches kept per feed. Lower it for less space."
    )
    fetch_max_bytes: int = Field(
        default=2 * 1024**3,
        gt=0,
        description="Maximum size of a fetched file, in bytes: part of the contract with sellers. The spool folder "
        "needs the space.",
    )
    fetch_total_s: float = Field(
        default=1800,
        gt=0,
        description="Maximum duration of a download, in seconds. Raise it for large files from slow hosts.",
    )
    fetches_per_host: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Maximum fetches from a host at a time, over all processes, one per seller; use 2 or more. Lower "
        "it if hosts complain.",
    )
    proxy: SecretStr | None = Field(
        default=None,
        description="Proxy for downloads, http://[user:password@]host:port; unset: none. Set it if the machine has no "
        "direct access to the internet.",
    )
    allow_loopback: bool = Field(
        default=False, description="Allow links to this machine. Turn it on for tests and demos, never in production."
    )
    lease_ttl_s: float = Field(
        default=10,
        gt=0,
        description="Seconds after which another replica takes over the schedule. Raise it if a slow database makes "
        "replicas lose it.",
    )
    jobs_lease_s: int = Field(
        default=20,
        ge=3,
        le=600,
        description="Seconds without a heartbeat after which a fetch is requeued; if set, it applies to other jobs, "
        "too. Raise it for machines and databases that pause for longer.",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_from_host(cls, values: Any) -> Any:
        """Use the variables without a prefix for settings that the prefixed ones leave out."""
        if not isinstance(values, dict):
            return values
        host = Hosting.model_validate(values["hosting"]) if "hosting" in values else Hosting.load()
        taken = {
            "http_listen": host.http_listen,
            "dsn": host.dsn,
            "db_pool_max": host.pool_max,
            "db_use_pool": host.pg_use_pool,
            "time_zone": host.timezone,
        }
        taken |= host.model_dump(include=set(LogFileSettings.model_fields))
        if "timezone" in host.model_fields_set:
            taken["log_time_zone"] = host.timezone
        if host.app_environment:
            taken["environment"] = host.app_environment
        if host.debug:
            taken["log_level"] = "debug"
        return taken | values | {"hosting": host}

    @property
    def log_zone(self) -> tzinfo:
        """The time zone of `log_time_zone`."""
        return find_zone(self.log_time_zone)

    @property
    def db_pool_recycle_s(self) -> float:
        """Age at which a kept connection is replaced, in seconds."""
        return self.hosting.pg_pool_recycle

    @property
    def further_schemas(self) -> tuple[str, ...]:
        """The schema of the job tables, if it differs from that of the others."""
        queue_schema = self.hosting.pg_schema_queue
        return (queue_schema,) if queue_schema not in {"", self.db_schema} else ()

    @property
    def default_lease_s(self) -> int:
        """Default lease of jobs, in seconds."""
        is_set = "jobs_lease_s" in self.model_fields_set
        return self.jobs_lease_s if is_set else self.hosting.dl_default_lease_ttl_sec

    @property
    def run_grace_s(self) -> float:
        """Seconds for which running jobs may continue after SIGTERM; the rest of the grace is for handing back the
        others.
        """
        return min(_RUN_GRACE_S, max(self.drain_grace_s - _HAND_BACK_S, self.drain_grace_s / 2))
