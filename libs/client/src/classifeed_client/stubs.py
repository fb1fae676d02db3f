"""Wrappers of generated stubs whose methods know their service, so that an error can name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from classifeed_client.errors import Peer


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a stub, with the service that it calls."""

    call: Any
    peer: Peer

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the method. It blocks or returns an awaitable, depending on the channel."""
        return self.call(*arguments, **options)


class Stub:
    """A generated stub with `Method`s for its methods.

    Args:
        stub: Stub over a channel to the peer. It has the types of grpc.aio; over a synchronous channel it blocks.
        peer: Service that the stub calls.
    """

    def __init__(self, stub: object, peer: Peer) -> None:
        self._stub = stub
        self._peer = peer

    def __getattr__(self, name: str) -> Method:
        """Return a method by its name in the proto."""
        return Method(getattr(self._stub, name), self._peer)
