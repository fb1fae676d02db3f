"""Addresses and token of an installation, from environment variables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from classifeed_client.errors import Unreachable

_SERVICES: Final = ("api", "offers", "searcher")
_DATA: Final = ".classifeed"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of the services, host:port."""

    api: str
    offers: str
    searcher: str


def read_environment(environ: Mapping[str, str]) -> tuple[Addresses, Callable[[], str]]:
    """Return the addresses of an installation, and a function that returns the bearer token.

    CLASSIFEED_ADDRESS (host:port) is the address of all services. CLASSIFEED_API_ADDRESS, CLASSIFEED_OFFERS_ADDRESS and
    CLASSIFEED_SEARCHER_ADDRESS override it for single services. The token is in CLASSIFEED_TOKEN, or in the file
    CLASSIFEED_TOKEN_FILE, which is read before each call. Without an address, the result is the installation that
    `classifeed up` runs in the folder CLASSIFEED_DATA (default: `.classifeed`), with its operator's token.

    Raises:
        Unreachable: NOT_CONFIGURED, the environment names no installation, and none runs in the folder.
    """
    own = {name: environ.get(f"CLASSIFEED_{name.upper()}_ADDRESS", "") for name in _SERVICES}
    token_file = environ.get("CLASSIFEED_TOKEN_FILE", "")
    shared = environ.get("CLASSIFEED_ADDRESS", "")
    if not shared and not all(own.values()):
        running = _running(Path(environ.get("CLASSIFEED_DATA") or _DATA))
        own = {name: own[name] or running["services"].get(name, {}).get("grpc", "") for name in _SERVICES}
        token_file = token_file or running["tokens"]["operator"]
    addresses = Addresses(**{name: own[name] or shared for name in _SERVICES})
    fixed = environ.get("CLASSIFEED_TOKEN", "")
    if fixed or not token_file:
        return addresses, lambda: fixed
    return addresses, lambda: _read_token(Path(token_file))


def _running(folder: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads((folder / "run" / "supervisor.json").read_text())
    except (OSError, ValueError) as error:
        raise Unreachable(
            "NOT_CONFIGURED",
            f"No installation is named, and none runs in {folder.absolute()}. Set CLASSIFEED_ADDRESS (host:port) and "
            "CLASSIFEED_TOKEN, or start one with `classifeed up --detach`.",
        ) from error
    return document


def _read_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise Unreachable("TOKEN_UNREADABLE", f"{path}: {error.strerror}. Correct CLASSIFEED_TOKEN_FILE.") from error
