"""A running installation as commands see it: where its services listen, and the tokens to call them with."""

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
    """Addresses (host:port) by service, and the files with the operator's token and with that of services."""

    grpc: Mapping[str, str]
    http: Mapping[str, str]
    token_file: Path | None = None
    service_token_file: Path | None = None
    fixed_token: str = ""

    @classmethod
    def find(cls, data: Path | None = None, address: str | None = None) -> Installation:
        """Return the installation that the options and the environment point to.

        With `address` (or CLASSIFEED_ADDRESS) it is another one than the folder's: services of their own addresses
        are named by CLASSIFEED_<SERVICE>_ADDRESS, the rest is reached at `address`; the token comes from
        CLASSIFEED_TOKEN or the file CLASSIFEED_TOKEN_FILE. Otherwise it is what runs in the data folder.

        Raises:
            CommandError: UNAVAILABLE, nothing runs in the folder.
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
        """gRPC address of a service.

        Raises:
            CommandError: UNAVAILABLE, this installation runs without it.
        """
        if service not in self.grpc:
            raise unavailable("SERVICE_NOT_RUNNING", f"{service} does not run here: start the suite without --only")
        return self.grpc[service]

    def token(self) -> str:
        """Return the operator's bearer token, read anew each time: the supervisor renews it.

        Empty when there is none.
        """
        return self._read(self.token_file)

    def service_token(self) -> str:
        """Return the bearer token by which a person calls as a service does; as `token` otherwise.

        Another installation has one token, that of the environment.
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
        """Return a client of the services that have jobs, of those that are part of the installation.

        Services behind one address are one: it is called once, under the first of their names.

        Raises:
            CommandError: UNAVAILABLE, there are none.
        """
        from classifeed_client import JOB_SERVICES, JobClient

        present = {self.grpc[name]: name for name in reversed(JOB_SERVICES) if name in self.grpc}
        if not present:
            raise unavailable("SERVICE_NOT_RUNNING", f"none of {', '.join(JOB_SERVICES)} runs here")
        addresses = {name: address for address, name in present.items()}
        return JobClient({name: addresses[name] for name in JOB_SERVICES if name in addresses}, self.token)

    def index_client(self) -> IndexClient:
        """Return a client of the services on the way into the index; close it, or use it in a `with` block."""
        from classifeed_client import INDEX_SERVICES, IndexClient

        return IndexClient({name: self.address(name) for name in INDEX_SERVICES}, self.token)

    def moderation_client(self, *, as_service: bool = False) -> ModerationClient:
        """Return a client of moderation and its verdict service; close it, or use it in a `with` block.

        Args:
            as_service: calls with the token of services: for what only a service may do.
        """
        from classifeed_client import MODERATION_SERVICES, ModerationClient

        addresses = {name: self.address(name) for name in MODERATION_SERVICES}
        return ModerationClient(addresses, self.service_token if as_service else self.token)

    def picture_client(self) -> PictureClient:
        """Return a client of pictures; close it, or use it in a `with` block."""
        from classifeed_client import PICTURE_SERVICES, PictureClient

        return PictureClient({name: self.address(name) for name in PICTURE_SERVICES}, self.token)

    def picture_bytes(self) -> PictureBytes:
        """Return where the bytes of pictures are read.

        Raises:
            CommandError: UNAVAILABLE, this installation runs without pictures, or nobody says where their HTTP is.
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
    """Return the error of a command that needs a suite in a folder where none runs."""
    return unavailable("NOT_RUNNING", f"no suite runs in {layout.root}: start one with `classifeed up --detach`")
