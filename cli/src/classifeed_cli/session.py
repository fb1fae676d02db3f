"""Session: common options of commands that call an installation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar

from google.protobuf.message import Message

from classifeed_cli.messages import document_of
from classifeed_cli.options import AddressOption, DataOption
from classifeed_cli.platform.installation import Installation
from classifeed_cli.terminal.output import JsonOption, Output

if TYPE_CHECKING:
    from classifeed_cli.platform.picture_bytes import PictureBytes
    from classifeed_client import Client, IndexClient, JobClient, ModerationClient, PictureClient

T = TypeVar("T")
MessageT = TypeVar("MessageT", bound=Message)


@dataclass(frozen=True, slots=True)
class Session:
    """Installation and output of a command, from `--data`, `--address` and `--json`.

    Attributes:
        out: Output of the command.
        data: Folder of the installation; None for the default folder.
        address: Address (host:port) of another installation's api; None for the installation of the folder.
    """

    out: Output
    data: Path | None = None
    address: str | None = None

    def show(self, view: Callable[[Output, MessageT], None], message: MessageT) -> None:
        """Print a message: by `view` for people, as the command's JSON document with --json."""
        view(self.out, message)
        self.out.document(document_of(message))

    def client(self) -> Client:
        """Return a client of the public APIs; close it, or use it in a `with` block.

        Raises:
            CommandError: UNAVAILABLE, no installation runs in the folder.
        """
        return Installation.find(self.data, self.address).client()

    def job_client(self) -> JobClient:
        """Return a client of the services that have jobs; see `client`."""
        return Installation.find(self.data, self.address).job_client()

    def index_client(self) -> IndexClient:
        """Return a client of the services that fill the index; see `client`."""
        return Installation.find(self.data, self.address).index_client()

    def moderation_client(self, *, as_service: bool = False) -> ModerationClient:
        """Return a client of moderation and its verdict service; see `client`.

        Args:
            as_service: Whether to use the token of services, for calls that only a service may make.
        """
        return Installation.find(self.data, self.address).moderation_client(as_service=as_service)

    def picture_client(self) -> PictureClient:
        """Return a client of pictures; see `client`."""
        return Installation.find(self.data, self.address).picture_client()

    def picture_bytes(self) -> PictureBytes:
        """Return the source of picture bytes; see `client`."""
        return Installation.find(self.data, self.address).picture_bytes()


def with_session(command: Callable[Concatenate[Session, ...], T]) -> Callable[..., T]:
    """Return a typer command whose first parameter, the session, is replaced by the options of `_open` at the end."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = inspect.signature(_open, eval_str=True).parameters

    @functools.wraps(command)
    def run(**options: Any) -> T:
        session = _open(**{name: options.pop(name) for name in shared})
        return command(session, **options)

    run.__signature__ = inspect.Signature([*own, *shared.values()])  # type: ignore[attr-defined] # typer reads it
    return run


def _open(data: DataOption = None, address: AddressOption = None, as_json: JsonOption = False) -> Session:
    return Session(Output(as_json), data, address)
