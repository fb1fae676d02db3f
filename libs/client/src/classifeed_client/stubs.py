"""Generated stubs whose methods know which service they call, so that an error can name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from classifeed_client.errors import Peer


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a service, with the service that it is called at."""

    call: Any
    peer: Peer

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it: blocks, or returns what is awaited, as the channel is."""
        return self.call(*arguments, **options)


class Stub:
    """A generated stub with `Method`s for its methods.

    Args:
        stub: made over a channel to the peer. Its types are those of grpc.aio; over a synchronous channel it blocks.
        peer: the service that it calls.
    """

    def __init__(self, stub: object, peer: Peer) -> None:
        self._stub = stub
        self._peer = peer

    def __getattr__(self, name: str) -> Method:
        """Return a method by the name that the proto has for it."""
        return Method(getattr(self._stub, name), self._peer)
