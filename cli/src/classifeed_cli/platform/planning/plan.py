"""The plan of a start: services, parts, ports, passwords, and the environment of each service."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from classifeed_cli.platform.planning.credentials import BUCKET, Credentials, ensure_credentials
from classifeed_cli.platform.planning.environment import python_environment
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.planning.ports import plan_ports
from classifeed_cli.platform.planning.service_table import ServiceSpec, ServiceTable

_LISTENER: Final = re.compile(r"\{(\w+\.(?:http|grpc))\}")


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a start; immutable data."""

    layout: Layout
    table: ServiceTable
    services: list[ServiceSpec]
    parts: frozenset[str]
    ports: dict[str, int]
    credentials: Credentials

    def address(self, name: str) -> str:
        """Return the host:port of a listener, by its name in `ports`."""
        return f"127.0.0.1:{self.ports[name]}"

    def _resolve(self, value: str) -> str:
        """Replace placeholders such as `{cleanweb.http}` in a setting by addresses."""
        return _LISTENER.sub(lambda found: self.address(found[1]), value)

    @property
    def superuser_dsn(self) -> str:
        """DSN of PostgreSQL's superuser."""
        return f"postgresql://postgres:{self.credentials.superuser}@{self.address('postgres')}/postgres"

    def dsn(self, service: str, address: str = "") -> str:
        """Return the DSN of a service's role and database, at PostgreSQL's address unless another one is given."""
        return (
            f"postgresql://{service}:{self.credentials.roles[service]}@{address or self.address('postgres')}/{service}"
        )

    def environment(self, spec: ServiceSpec) -> dict[str, str]:
        """Return the environment of a service's process: the current one, the mapped knobs, and the settings of `up`.

        With CLASSIFEED_<SERVICE>_POSTGRES_ADDRESS, host:port, the service connects to PostgreSQL through a proxy or
        pooler; migrations and `status` connect directly.
        """
        environment = python_environment()
        for knob, targets in self.table.knobs.items():
            if knob in os.environ:
                environment |= {target: os.environ[knob] for target in targets if target not in os.environ}
        layout = self.layout
        # Not the system's temporary folder, where several users of a machine would share one folder.
        defaults = {"SPOOL_DIR": str(layout.service_data(spec.name) / "spool")} | {
            key: self._resolve(value) for key, value in spec.settings.items()
        }
        environment = {spec.prefix + key: value for key, value in defaults.items()} | environment
        own: dict[str, object] = {
            "ENVIRONMENT": "embedded",
            "GRPC_LISTEN": self.address(f"{spec.name}.grpc"),
            "HTTP_LISTEN": self.address(f"{spec.name}.http"),
            "KEYS_DIR": layout.keys,
            "RUN_FILE": layout.run / f"{spec.name}.addresses.json",
            "LOG_JSON": "true",
            "DATA_DIR": layout.service_data(spec.name),
        }
        own |= {
            f"{peer.upper()}_ADDRESS": self.address(f"{peer}.grpc") for peer in self.table.services if peer != spec.name
        }
        if spec.database:
            elsewhere = environment.get(f"{spec.prefix}POSTGRES_ADDRESS", "")
            own |= {"DSN": self.dsn(spec.name, elsewhere), "DB_SCHEMA": spec.name}
        if spec.kafka:
            own["KAFKA_BOOTSTRAP"] = self.address("kafka")
        if spec.s3:
            own["S3_ENDPOINT"] = f"http://{self.address('s3')}"
            own["S3_ACCESS_KEY"] = self.credentials.s3_access_key
            own["S3_SECRET_KEY"] = self.credentials.s3_secret_key
            own["S3_BUCKET"] = BUCKET
        if spec.secrets:
            own["SECRETS_FILE"] = layout.credential_keys
        return environment | {spec.prefix + key: str(value) for key, value in own.items()}


def make_plan(layout: Layout, only: Iterable[str]) -> Plan:
    """Choose services and ports, and create missing keys and folders. The caller holds the folder's lock.

    Raises:
        CommandError: A name is unknown, a package is missing, a port is in use, or the disk is full.
    """
    table = ServiceTable.load()
    services, parts = table.choose(only)
    for spec in services:
        spec.check_installed()
    layout.prepare()
    # For all services, so that addresses stay valid when further services are started later.
    credentials = ensure_credentials(layout, table.services)
    ports = plan_ports(layout, table.services)
    for spec in services:
        layout.service_data(spec.name).mkdir(parents=True, exist_ok=True)
    return Plan(layout, table, services, parts, ports, credentials)
