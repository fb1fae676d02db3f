"""Settings of a process with jobs, from the environment variables of the loader."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, NoReturn, Self

from psycopg.conninfo import make_conninfo
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from classifeed_common.settings import ServiceSettings
from classifeed_common.telemetry.log_settings import ZoneName
from classifeed_jobs.admin.admin import MAX_OPEN_PER_CALLER
from classifeed_jobs.maintenance.retention import Retention
from classifeed_jobs.schema.ddl import QUEUE_SCHEMA
from classifeed_jobs.worker.worker import PREFETCH_MAX


class ServiceJobSettings(ServiceSettings):
    """Base of the settings of a service with internal jobs."""

    jobs_max_open_per_caller: int = Field(
        default=MAX_OPEN_PER_CALLER,
        ge=1,
        description="Maximum number of incomplete jobs that one caller has triggered. Raise it for callers that "
        "trigger many at a time.",
    )


class JobSettings(BaseSettings):
    """Variables of the engine and its database, without a prefix. A service subclasses it or uses it next to its own.

    PG_DSN takes precedence over PG_HOST, PG_PORT, PG_USER, PG_PASSWORD and PG_DATABASE.
    """

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True, extra="ignore", hide_input_in_errors=True)

    workers_json: Annotated[dict[str, int], NoDecode] = Field(
        default={"etl.default": 4, "feed.fetch": 4},
        description='Queues and their running jobs at a time: [{"queue": "load.cbr", "concurrency": 2}]. CPU and '
        "memory of the machine decide.",
    )
    dl_heartbeat_sec: float = Field(
        default=10,
        gt=0,
        le=3600,
        description="Seconds between two renewals of a lease. Lower it together with the lease.",
    )
    dl_default_lease_ttl_sec: int = Field(
        default=60,
        ge=1,
        le=86400,
        description="Default lease of a job, in seconds. Lower it if jobs of dead processes must continue sooner.",
    )
    dl_reaper_period_sec: float = Field(
        default=10,
        gt=0,
        le=3600,
        description="Maximum seconds between two polls for lost jobs. Lower it if jobs of dead processes must "
        "continue sooner.",
    )
    dl_claim_backoff_sec: float = Field(
        default=15,
        gt=0,
        le=3600,
        description="Maximum seconds between two polls of an idle queue. Lower it if notifications of the database do "
        "not arrive.",
    )
    dl_pipeline_modules: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("classifeed_jobs.task.noop",),
        description="Modules that register tasks, comma-separated. Set it to add your own tasks.",
    )
    dl_prefetch: float = Field(
        default=0,
        ge=0,
        le=PREFETCH_MAX,
        description="Maximum number of prefetched jobs while runs are short, as a multiple of the concurrency. Raise "
        "it for queues of many jobs of milliseconds.",
    )
    dl_done_days: int = Field(
        default=30, ge=1, description="Days for which complete jobs are kept. Lower it for less space."
    )
    dl_events_days: int = Field(
        default=30, ge=1, description="Days for which the journal is kept. Lower it for less space."
    )
    dl_key_ttl_days: int = Field(
        default=30,
        ge=1,
        description="Days for which idempotency keys are kept. Raise it if callers repeat requests after a longer "
        "time.",
    )
    dl_max_open_per_caller: int = Field(
        default=MAX_OPEN_PER_CALLER,
        ge=1,
        description="Maximum number of incomplete jobs that one caller has triggered over HTTP or gRPC. Raise it for "
        "callers that trigger many at a time.",
    )
    timezone: ZoneName = Field(
        default="Europe/Moscow",
        description="Default time zone of schedules; if set, also the time zone of logs. Set it to the zone of your "
        "working hours.",
    )
    pg_dsn: SecretStr = Field(
        default=SecretStr(""),
        description="Connection URI or keyword string of PostgreSQL; overrides PG_HOST. Set it if parameters have no "
        "variable, such as TLS.",
    )
    pg_host: str = Field(
        default="127.0.0.1", description="Host of PostgreSQL, or the folder of its socket. Set it to your database."
    )
    pg_port: int = Field(
        default=5432, ge=1, le=65535, description="Port of PostgreSQL. Set it if your database has another one."
    )
    pg_user: str = Field(default="postgres", description="Role in PostgreSQL. Your database decides.")
    pg_password: SecretStr = Field(default=SecretStr(""), description="Password of the role. Your database decides.")
    pg_database: str = Field(default="postgres", description="Database in PostgreSQL. Your database decides.")
    pg_schema_queue: str = Field(
        default="",
        pattern="^([a-z_][a-z0-9_]{0,62})?$",
        description="Schema of the job tables; empty: the service's. Set it to keep these tables apart.",
    )
    pg_use_pool: bool = Field(
        default=True,
        description="Pool connections; false: a new one per transaction. Turn it off behind a transaction pooler.",
    )
    pg_pool_size: int = Field(
        default=4,
        ge=1,
        le=100,
        description="Number of pooled connections. Choose it so that all processes stay within the limit of the "
        "server.",
    )
    pg_max_overflow: int = Field(
        default=0,
        ge=0,
        le=100,
        description="Number of additional connections under load. Raise it if transactions wait for a connection at "
        "times.",
    )
    pg_pool_recycle: int = Field(
        default=3600,
        ge=1,
        le=30 * 86400,
        description="Maximum age of a pooled connection, in seconds. Lower it below the age at which a firewall cuts "
        "connections.",
    )
    pg_connect_timeout: int = Field(
        default=10, ge=1, le=600, description="Connection timeout, in seconds. Raise it for a distant or slow database."
    )
    pg_command_timeout: float = Field(
        default=0,
        ge=0,
        le=86400,
        description="Timeout of a statement, in seconds; 0: none. Set it to protect the database from slow statements.",
    )

    @field_validator("workers_json", mode="before")
    @classmethod
    def _read_workers(cls, value: Any) -> Any:
        return _read_workers(value) if isinstance(value, str) else value

    @field_validator("dl_pipeline_modules", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @model_validator(mode="after")
    def _check_lease(self) -> Self:
        if self.dl_heartbeat_sec >= self.dl_default_lease_ttl_sec:
            raise ValueError(
                f"DL_HEARTBEAT_SEC={self.dl_heartbeat_sec:g} must be below "
                f"DL_DEFAULT_LEASE_TTL_SEC={self.dl_default_lease_ttl_sec}: leases would expire between two heartbeats"
            )
        return self

    @classmethod
    def load(cls) -> Self:
        """Return the settings from the environment.

        If a value is invalid, the process exits with code 2, after one line on stderr for each invalid variable.
        """
        try:
            return cls()
        except ValidationError as error:
            _refuse(cls, error)

    @property
    def dsn(self) -> str:
        """Connection string for `Database`. PG_COMMAND_TIMEOUT is set as statement_timeout."""
        options: dict[str, Any] = {"connect_timeout": self.pg_connect_timeout}
        if self.pg_command_timeout:
            options["options"] = f"-c statement_timeout={int(self.pg_command_timeout * 1000)}"
        if self.pg_dsn.get_secret_value():
            return make_conninfo(self.pg_dsn.get_secret_value(), **options)
        return make_conninfo(
            host=self.pg_host,
            port=self.pg_port,
            user=self.pg_user,
            password=self.pg_password.get_secret_value() or None,
            dbname=self.pg_database,
            **options,
        )

    @property
    def pool_max(self) -> int:
        """Maximum size of the connection pool, for `Database`."""
        return self.pg_pool_size + self.pg_max_overflow

    @property
    def schema_translate_map(self) -> dict[str, str | None]:
        """Schema of the tables of `add_jobs`, for SQLAlchemy; None for the schema of the connection."""
        return {QUEUE_SCHEMA: self.pg_schema_queue or None}

    @property
    def retention(self) -> Retention:
        """Retention, for the `Reaper`."""
        return Retention(self.dl_done_days, self.dl_events_days)

    @property
    def key_ttl_s(self) -> float:
        """Seconds for which idempotency keys are kept, for the `JobStore`."""
        return self.dl_key_ttl_days * 86400.0


def _read_workers(text: str) -> dict[str, int]:
    wrong = ValueError('must be a JSON list of {"queue": "name", "concurrency": 1 or more}')
    try:
        entries = json.loads(text)
        workers = {str(entry["queue"]): int(entry["concurrency"]) for entry in entries}
    except (ValueError, TypeError, KeyError) as error:
        raise wrong from error
    if not workers or len(workers) != len(entries) or any(not queue or count < 1 for queue, count in workers.items()):
        raise wrong
    return workers


def _refuse(cls: type[JobSettings], error: ValidationError) -> NoReturn:
    for fault in error.errors(include_url=False):
        message = fault["msg"].removeprefix("Value error, ")
        if not fault["loc"]:
            line = message
        else:
            name = str(fault["loc"][0])
            known = cls.model_fields.get(name)
            shown = "***" if known is None or "Secret" in str(known.annotation) else repr(fault["input"])
            meant = f" ({known.description})" if known is not None else ""
            line = f"{name.upper()}={shown} is refused: {message[:1].lower()}{message[1:]}{meant}"
        print(line, file=sys.stderr)  # noqa: T201 - the log is not configured yet
    sys.exit(2)
