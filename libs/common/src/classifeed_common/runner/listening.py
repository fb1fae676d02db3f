"""Listening addresses of a service: check that they are safe without keys, and write them to the run file."""

from __future__ import annotations

import ipaddress
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from classifeed_common.auth.service_tokens import KeyStore
from classifeed_common.http.browser_guard import AllowedHosts
from classifeed_common.settings import ServiceSettings, variable_of


class StartError(Exception):
    """The service cannot start with its configuration; the message is one line for a person."""


class ListenError(StartError):
    """The service cannot or must not listen on the address."""


def is_loopback(address: str) -> bool:
    """Return whether host:port (or a unix socket) can be reached from this machine only."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_keys(settings: ServiceSettings) -> None:
    """Return if callers need tokens, or can only be on this machine.

    Raises:
        ListenError: anybody could call.
    """
    if settings.keys_dir is not None:
        return
    for field in ("grpc_listen", "http_listen"):
        address = getattr(settings, field)
        if not is_loopback(address):
            cls = type(settings)
            raise ListenError(
                f"{variable_of(cls, field)}={address} would be open to everyone: set {variable_of(cls, 'keys_dir')} "
                "to the folder of token keys, or listen on 127.0.0.1."
            )


def allowed_hosts(settings: ServiceSettings) -> AllowedHosts:
    """Return the hosts that HTTP requests may name: those of `http_hosts`, and the host of the listening address."""
    listens_on = settings.http_listen.rpartition(":")[0]
    return AllowedHosts.of(
        [*settings.http_hosts.split(","), listens_on],
        is_loopback=is_loopback(settings.http_listen),
        setting=variable_of(type(settings), "http_hosts"),
    )


def http_keys(settings: ServiceSettings, *, required_by: str = "") -> KeyStore | None:
    """Return the keys for tokens of HTTP callers; None: only this machine can call, and no setting requires tokens.

    Args:
        settings: settings of the service.
        required_by: setting that requires tokens on the loopback, too; empty: none does.

    Raises:
        ListenError: there are no keys.
    """
    if required_by:
        return required_keys(settings, by=required_by)
    if settings.keys_dir is None or is_loopback(settings.http_listen):
        return None  # require_keys allows the loopback only
    return KeyStore(settings.keys_dir)


def required_keys(settings: ServiceSettings, *, by: str) -> KeyStore:
    """Return the keys of a service that requires tokens on the loopback, too.

    Args:
        settings: settings of the service.
        by: setting or part that requires them, as the subject of a sentence.

    Raises:
        ListenError: there are no keys.
    """
    if settings.keys_dir is None:
        variable = variable_of(type(settings), "keys_dir")
        raise ListenError(f"{by} needs {variable}, the folder of token keys.")
    return KeyStore(settings.keys_dir)


def write_run_file(path: Path, *, service: str, grpc: str, http: str, roles: Iterable[str]) -> None:
    """Write pid and addresses atomically."""
    content = {"service": service, "pid": os.getpid(), "grpc": grpc, "http": http, "roles": sorted(roles)}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(content) + "\n")
    partial.replace(path)


def say(line: str) -> None:
    """Print one line for the person who started the process."""
    print(line, file=sys.stderr)  # noqa: T201 there may be no log yet, and this is for a person
