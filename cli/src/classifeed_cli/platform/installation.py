"""A running installation: addresses of its services, and tokens to call them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from classifeed_cli.exit_codes import CommandError, unavailable
from classifeed_cli.options import data_folder
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_cli.platform.supervision.description import read_running

if TYPE_CHECKING:
    from classifeed_cli.platform.picture_bytes import PictureBytes
    from classifeed_client import Client, IndexClient, JobClient, ModerationClient, PictureClient


@dataclass(frozen=True, slots=True)
class Installation:
    """Addresses (host:port) by service, and the files with the token of the operator and the token of services."""

    grpc: Mapping[str, str]
    http: Mapping[str, str]
    token_file: Path | None = None
    service_token_file: Path | None = None
    fixed_token: str = ""

    @classmethod
    def find(cls, data: Path | None = None, address: str | None = None) -> Installation:
        """Return the installation that the options and the environment name.

        Without `address`, it is the installation that runs in the data folder. With `address` (or CLASSIFEED_ADDRESS),
        all services have this address, unless CLASSIFEED_<SERVICE>_ADDRESS names another one. The token then comes from
        CLASSIFEED_TOKEN or from the file CLASSIFEED_TOKEN_FILE.

        Raises:
            CommandError: UNAVAILABLE, no installation runs in the folder.
        """
        if address:
            return cls._remote(address)
        layout = Layout(data_folder(data))
        document = read_running(layout)
        if document is None:
            raise not_running(layout)
        services = document["services"]
        return cls(
            grpc={name: service["grpc"] for name, service in services.items()},
            http={name: service["http"] for name, service in services.items()},
            token_file=Path(document["tokens"]["operator"]),
            service_token_file=Path(document["tokens"]["service"]),
        )

    @classmethod
    def _remote(cls, address: str) -> Installation:
        names = ServiceTable.load().services
        file = os.environ.get("CLASSIFEED_TOKEN_FILE")
        return cls(
            grpc={name: os.environ.get(f"CLASSIFEED_{name.upper()}_ADDRESS", address) for name in names},
            http={},
            token_file=Path(file) if file else None,
            service_token_file=Path(file) if file else None,
            fixed_token=os.environ.get("CLASSIFEED_TOKEN", ""),
        )

    def address(self, service: str) -> str:
        """Return the gRPC address of a service.

        Raises:
            CommandError: UNAVAILABLE, the installation runs without this service.
        """
        if service not in self.grpc:
            raise unavailable("SERVICE_NOT_RUNNING", f"{service} does not run here: start the suite without --only")
        return self.grpc[service]

    def token(self) -> str:
        """Return the operator's bearer token; empty if there is none.

        The file is read at each call, because the supervisor renews the token.
        """
        return self._read(self.token_file)

    def service_token(self) -> str:
        """Return the bearer token of services, which permits calls that only services may make.

        With `address`, it is the same token as `token`.
        """
        return self._read(self.service_token_file)

    def _read(self, file: Path | None) -> str:
        if file is None:
            return self.fixed_token
        try:
            return file.read_text().strip()
        except OSError as error:
            raise unavailable("TOKEN_UNREADABLE", f"{file}: {error.strerror}") from error

    def client(self) -> Client:
        """Return a client of the public APIs; close it, or use it in a `with` block."""
        from classifeed_client import Addresses, Client

        addresses = Addresses(**{name: self.address(name) for name in ("api", "offers", "searcher")})
        return Client(addresses, self.token)

    def job_client(self) -> JobClient:
        """Return a client of the installation's services that have jobs.

        If several services share an address, it is called once, with the first of their names.

        Raises:
            CommandError: UNAVAILABLE, no service with jobs runs.
        """
        from classifeed_client import JOB_SERVICES, JobClient

        present = {self.grpc[name]: name for name in reversed(JOB_SERVICES) if name in self.grpc}
        if not present:
            raise unavailable("SERVICE_NOT_RUNNING", f"none of {', '.join(JOB_SERVICES)} runs here")
        addresses = {name: address for address, name in present.items()}
        return JobClient({name: addresses[name] for name in JOB_SERVICES if name in addresses}, self.token)

    def index_client(self) -> IndexClient:
        """Return a client of the services that fill the index; close it, or use it in a `with` block."""
        from classifeed_client import INDEX_SERVICES, IndexClient

        return IndexClient({name: self.address(name) for name in INDEX_SERVICES}, self.token)

    def moderation_client(self, *, as_service: bool = False) -> ModerationClient:
        """Return a client of moderation and its verdict service; close it, or use it in a `with` block.

        Args:
            as_service: Whether to use the token of services, for calls that only a service may make.
        """
        from classifeed_client import MODERATION_SERVICES, ModerationClient

        addresses = {name: self.address(name) for name in MODERATION_SERVICES}
        return ModerationClient(addresses, self.service_token if as_service else self.token)

    def picture_client(self) -> PictureClient:
        """Return a client of pictures; close it, or use it in a `with` block."""
        from classifeed_client import PICTURE_SERVICES, PictureClient

        return PictureClient({name: self.address(name) for name in PICTURE_SERVICES}, self.token)

    def picture_bytes(self) -> PictureBytes:
        """Return the source of picture bytes.

        Raises:
            CommandError: UNAVAILABLE, the installation runs without pictures, or its HTTP address is not configured.
        """
        from classifeed_cli.platform.picture_bytes import URL_VARIABLE, PictureBytes

        base = os.environ.get(URL_VARIABLE, "")
        if not base and self.http:
            self.address("pictures")
            base = f"http://{self.http['pictures']}"
        if not base.startswith(("http://", "https://")):
            raise unavailable(
                "NOT_CONFIGURED",
                f"pictures are read over HTTP, and its address is not known: set {URL_VARIABLE}, such as https://pictures.example",
            )
        return PictureBytes(base)


def not_running(layout: Layout) -> CommandError:
    """Return the error of a command that needs a running suite in a folder."""
    return unavailable("NOT_RUNNING", f"no suite runs in {layout.root}: start one with `classifeed up --detach`")
