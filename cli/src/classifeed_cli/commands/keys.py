"""`classifeed keys …`: keys of an installation that `up` does not run, such as one in a cluster."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import typer

from classifeed_cli.exit_codes import refused
from classifeed_cli.platform.planning.credentials import OPERATOR, make_keys
from classifeed_cli.platform.planning.layout import CREDENTIAL_KEYS_FILE
from classifeed_cli.platform.planning.service_table import ServiceSpec, ServiceTable
from classifeed_cli.terminal.output import JsonOption, Output
from classifeed_common.auth.keys import JWKS_FILE, RECORDS_FILE

_NAME_PREFIX: Final = "classifeed-keys-"
_app = typer.Typer(help="Keys of an installation in a cluster.", no_args_is_help=True)


class Format(StrEnum):
    """Output formats of the keys."""

    FILES = "files"
    MANIFESTS = "k8s-secret"


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(_app, name="keys")


@_app.callback()
def _keys() -> None:
    # The callback keeps the only command a subcommand.
    """Keys of an installation in a cluster."""


@_app.command()
def init(
    kind: Annotated[
        Format, typer.Option("--format", help="Files in the folder --to, or Secrets that the charts take, on stdout.")
    ],
    to: Annotated[
        Path | None,
        typer.Option("--to", help="New or empty folder that keeps the keys; with k8s-secret it may be left out."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create the keys of all services and of the operator, once; existing keys are never overwritten.

    The keys sign tokens and encrypt credentials of feeds. `kubectl create -f -` takes the Secrets, and refuses to
    replace keys, as `apply` would not.
    """
    out = Output(as_json)
    services = list(ServiceTable.load().services.values())
    if to is None:
        if kind is Format.FILES:
            raise typer.BadParameter("--format files needs --to, the folder for the keys")
        with TemporaryDirectory() as folder:
            _hand_over(out, kind, Path(folder), services)
    else:
        _check_empty(to)
        _hand_over(out, kind, to, services)
        out.progress(f"The keys are in {to}; `classifeed token create --keys {shlex.quote(str(to))}` signs with them.")


def _check_empty(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise refused(
            "FILE_EXISTS", f"{folder} is not an empty folder, and keys are never overwritten: name a new one."
        )


def _hand_over(out: Output, kind: Format, folder: Path, services: Iterable[ServiceSpec]) -> None:
    services = list(services)
    make_keys(folder, [*(service.name for service in services), OPERATOR])
    if kind is Format.FILES:
        out.document({"files": sorted(str(path) for path in folder.iterdir())})
        return
    secrets = [*_secrets(folder, services)]
    out.document({"apiVersion": "v1", "kind": "List", "items": secrets})
    if not out.as_json:
        typer.echo("".join(map(_as_yaml, secrets)), nl=False)


def _secrets(folder: Path, services: Iterable[ServiceSpec]) -> Iterator[dict[str, Any]]:
    for service in services:
        yield _secret(folder, service.name, [CREDENTIAL_KEYS_FILE] if service.secrets else [])
    yield _secret(folder, OPERATOR, [])


def _secret(folder: Path, caller: str, further: Iterable[str]) -> dict[str, Any]:
    files = (f"{caller}.pem", JWKS_FILE, RECORDS_FILE, *further)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _NAME_PREFIX + caller, "labels": {"app.kubernetes.io/part-of": "classifeed"}},
        "type": "Opaque",
        "data": {name: base64.b64encode((folder / name).read_bytes()).decode() for name in files},
    }


def _as_yaml(manifest: Mapping[str, Any]) -> str:
    return "---\n" + "".join(_yaml_lines(manifest))


def _yaml_lines(mapping: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    # The values are names and base64, so they need no quotes.
    for name, value in mapping.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:\n"
            yield from _yaml_lines(value, indent + "  ")
        else:
            yield f"{indent}{name}: {value}\n"
