"""The ports of an installation, chosen before the start and kept between starts, so that all services know them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from classifeed_cli.exit_codes import CommandError, ExitCode, unavailable
from classifeed_cli.platform.planning.layout import Layout, read_json, write_json
from classifeed_devkit.embedded.ports import is_free, pick_free_port

_PORTS = 65536


def plan_ports(layout: Layout, services: Iterable[str]) -> dict[str, int]:
    """Choose the port of each listener, by a name such as `api.grpc` or `kafka`; store and return the ports.

    A port that a variable sets has precedence. Otherwise, the port of the last start is used if it is free, or any free
    port. The variables are CLASSIFEED_POSTGRES_PORT, CLASSIFEED_KAFKA_PORT, CLASSIFEED_S3_PORT,
    CLASSIFEED_<SERVICE>_GRPC_LISTEN and CLASSIFEED_<SERVICE>_HTTP_LISTEN. The installation must not be running.

    Raises:
        CommandError: The port of a variable is in use.
    """
    before: dict[str, int] = read_json(layout.ports) or {}
    names = ["postgres", "kafka", "kafka.controller", "s3"]
    names += [f"{service}.{protocol}" for service in services for protocol in ("grpc", "http")]
    ports: dict[str, int] = {}
    for name in names:
        chosen = _chosen(name)
        kept = before.get(name)
        if chosen:
            if not is_free(chosen):
                raise unavailable(
                    "PORT_IN_USE",
                    f"{name}: port {chosen} of {_variable(name)} is in use: stop what listens there, or set another",
                    port=str(chosen),
                )
            ports[name] = chosen
        elif kept is not None and kept not in ports.values() and is_free(kept):
            ports[name] = kept
        else:
            ports[name] = pick_free_port({*before.values(), *ports.values()})
    write_json(layout.ports, {**before, **ports})
    return ports


def _variable(name: str) -> str:
    service, dot, protocol = name.partition(".")
    return f"CLASSIFEED_{service.upper()}_" + (f"{protocol.upper()}_LISTEN" if dot else "PORT")


def _chosen(name: str) -> int:
    """Return the port that a variable sets for a listener; 0 if none does."""
    variable = _variable(name)
    port = os.environ.get(variable, "").rpartition(":")[2]
    if port and not (port.isdigit() and int(port) < _PORTS):
        raise CommandError(
            ExitCode.USAGE,
            "PORT_INVALID",
            f"{variable}={os.environ[variable]!r} has no port from 0 to {_PORTS - 1}: give 127.0.0.1:PORT or PORT",
        )
    return int(port or 0)
