"""Settings from environment variables: typed, frozen, with a readable error for each wrong value."""

from __future__ import annotations

import sys
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, Self, TypeVar, cast

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from classifeed_common.telemetry.log_settings import LogFileSettings, ZoneName

_HOST_PORT = r"(\[[0-9a-fA-F:]+\]|[^:/\s]+):\d{1,5}"
# ADDRESS: where a server listens. TARGET: where its clients dial, also by DNS, which balances their calls.
ADDRESS = rf"^(unix:.+|{_HOST_PORT})$"
TARGET = rf"^(unix:.+|(dns:(///)?)?{_HOST_PORT})$"
_POOL_RECYCLE_S: Final = 3600.0


class ServiceSettings(LogFileSettings):
    """Settings of every service; a subclass sets `env_prefix` to CLASSIFEED_<SERVICE>_ and adds its fields."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True, extra="ignore", hide_input_in_errors=True)

    environment: str = Field(
        default="dev",
        description="Name of the installation, shown in logs and traces. Set it to tell installations apart.",
    )
    grpc_listen: str = Field(
        default="127.0.0.1:0",
        pattern=ADDRESS,
        description="Address of the gRPC server, host:port; port 0: any free port. Set it where clients need a fixed "
        "address.",
    )
    http_listen: str = Field(
        default="127.0.0.1:0",
        pattern=ADDRESS,
        description="Address of the HTTP server, host:port; port 0: any free port. Set it where clients need a fixed "
        "address.",
    )
    http_hosts: str = Field(
        default="",
        description="Further host names that HTTP requests may use, comma-separated. The loopback is always allowed, "
        "and so is every IP address unless HTTP listens on the loopback. Set it for the names of a proxy or an "
        "ingress.",
    )
    roles: str = Field(
        default="", description="Roles to run, comma-separated; empty: all. Set it to scale roles separately."
    )
    run_file: Path | None = Field(
        default=None,
        description="File to which the process writes its addresses as JSON once it listens; unset: none. Set it if a "
        "program starts the process with port 0.",
    )
    drain_grace_s: float = Field(
        default=10,
        ge=0,
        le=600,
        description="Seconds that calls and roles may take to complete after SIGTERM. Keep it below the time after "
        "which your orchestrator kills the process.",
    )
    drain_notice_s: float = Field(
        default=0.5,
        ge=0,
        le=60,
        description="Seconds that health reports NOT_SERVING before calls are refused. Raise it if load balancers "
        "notice late.",
    )
    dsn: SecretStr = Field(
        default=SecretStr(""),
        description="Connection to PostgreSQL, as a libpq URI or keyword string. Set it to the address of your "
        "database.",
    )
    db_schema: str = Field(
        default="",
        pattern="^[a-z][a-z0-9_]{0,62}$",
        description="Schema of the tables; empty: the name of the service. Set it if your database prescribes names.",
    )
    db_pool_max: int = Field(
        default=4,
        ge=1,
        le=100,
        description="Largest number of connections to PostgreSQL. Choose it so that all processes stay within the "
        "limit of the server.",
    )
    db_use_pool: bool = Field(
        default=True,
        description="Whether to keep connections; if not, each transaction opens one. Turn it off behind a "
        "transaction pooler.",
    )
    db_unanswered_s: float = Field(
        default=90,
        ge=10,
        le=3600,
        description="Seconds that a statement may be silent while the state of PostgreSQL is unknown. Raise it if "
        "longer statements are cut, lower it to notice dead connections sooner.",
    )
    kafka_bootstrap: str = Field(
        default="", description="Addresses of Kafka brokers, host:port, comma-separated. Set it to your cluster."
    )
    s3_endpoint: str = Field(default="", description="URL of S3, http(s)://host:port. Set it to your object store.")
    s3_access_key: str = Field(default="", description="Access key of S3. Your object store issues it.")
    s3_secret_key: SecretStr = Field(
        default=SecretStr(""), description="Secret key of S3. Your object store issues it."
    )
    s3_bucket: str = Field(
        default="classifeed", description="Bucket for files. Set it to the name that your object store gives."
    )
    keys_dir: Path | None = Field(
        default=None,
        description="Folder of token keys: jwks.json and <service>.pem; unset: no tokens, and loopback only. Set it "
        "if services are on several machines.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level that is logged. Lower it to debug, raise it for less volume."
    )
    log_json: bool = Field(
        default=True,
        description="Whether logs are JSON; if not, they are formatted for a terminal. Turn it off to read them there.",
    )
    time_zone: ZoneName = Field(
        default="UTC",
        description="Time zone of job schedules without one: an IANA name. Set it to the zone of your working hours.",
    )
    telemetry_file: Path | None = Field(
        default=None,
        description="File for the spans, one JSON document per line; unset: none. OTEL_* variables name a collector. "
        "Set it to trace without a collector.",
    )

    @classmethod
    def service_name(cls) -> str:
        """Return the name of the service, from the prefix of its variables."""
        prefix = cls.model_config.get("env_prefix") or ""
        return prefix.removeprefix("CLASSIFEED_").rstrip("_").lower() or "service"

    @model_validator(mode="before")
    @classmethod
    def _name_schema(cls, values: Any) -> Any:
        if isinstance(values, dict) and not values.get("db_schema"):
            return {**values, "db_schema": cls.service_name()}
        return values

    @property
    def log_zone(self) -> tzinfo:
        """Return the time zone of logs and of metrics in files."""
        return UTC

    @property
    def db_pool_recycle_s(self) -> float:
        """Return the age at which a kept connection is replaced, in seconds."""
        return _POOL_RECYCLE_S

    @property
    def further_schemas(self) -> tuple[str, ...]:
        """Return the schemas, apart from `db_schema`, that hold tables of the service."""
        return ()

    @property
    def selected_roles(self) -> frozenset[str]:
        """Return the requested roles; empty means all."""
        return frozenset(role.strip() for role in self.roles.split(",") if role.strip())

    def with_roles(self, roles: str) -> Self:
        """Return the same settings with other roles, for `--role`."""
        return self.model_copy(update={"roles": roles})


SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def load_settings(cls: type[SettingsT]) -> SettingsT:
    """Read the settings from the environment.

    A wrong or missing value ends the process with exit code 2. It prints one line per fault: the variable, its value
    and the allowed values. It never prints the value of a secret.
    """
    try:
        return cls()
    except ValidationError as error:
        _refuse([_describe_fault(cls, cast(dict[str, Any], fault)) for fault in error.errors(include_url=False)])
    except SettingsError as error:
        _refuse([f"{error}; give it as JSON"])


def _refuse(lines: list[str]) -> NoReturn:
    for line in lines:
        print(line, file=sys.stderr)  # noqa: T201 the process ends before there is a log
    sys.exit(2)


def _describe_fault(cls: type[ServiceSettings], fault: dict[str, Any]) -> str:
    path = [str(part) for part in fault["loc"]]
    if not path:
        return f"{cls.__name__}: {fault['msg']}"
    field = cls.model_fields.get(path[0])
    variable = variable_of(cls, path[0])
    allowed = f" ({field.description})" if field is not None and field.description else ""
    if fault["type"] == "missing":
        return f"{variable} is not set and has no default{allowed}"
    value = "***" if field is None or _is_secret(field) else repr(fault.get("input"))
    return f"{variable}={value} is refused: {fault['msg'][:1].lower()}{fault['msg'][1:]}{allowed}"


def variable_of(cls: type[BaseSettings], field: str) -> str:
    """Return the environment variable of a field: its alias, or the prefix and the field's name."""
    alias = cls.model_fields[field].validation_alias if field in cls.model_fields else None
    if isinstance(alias, str):
        return alias
    return f"{cls.model_config.get('env_prefix') or ''}{field}".upper()


def _is_secret(field: FieldInfo) -> bool:
    return "Secret" in str(field.annotation)


def describe_settings(cls: type[BaseSettings]) -> str:
    """Return the text of `--help-settings`: each variable with its default and its meaning.

    Nested settings are listed under their own variables.
    """
    lines = []
    for name, field in cls.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings):
            lines.append(describe_settings(field.annotation))
            continue
        default = field.get_default(call_default_factory=False)
        if default is PydanticUndefined or field.is_required():
            shown = "required"
        elif _is_secret(field) or default is None or default == "":
            shown = "unset"
        else:
            shown = f"default {default}"
        lines.append(f"{variable_of(cls, name)}  [{shown}]\n    {field.description or ''}".rstrip())
    return "\n".join(lines)
