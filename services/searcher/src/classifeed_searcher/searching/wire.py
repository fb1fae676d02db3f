"""What goes between the service and a process that searches: frames of a length and a tuple."""

from __future__ import annotations

import pickle
import struct
from typing import Any, Final, NamedTuple

LENGTH: Final = struct.Struct("<I")


class Request(NamedTuple):
    """What the process gets.

    Attributes:
        number: comes back with the response.
        client: whose documents.
        folder: of the generation that is current.
        commits: how many commits of it there were: what they brought is found.
        content: a SearchRequest on the wire; None: nothing is searched. With the number 0 former files are let go;
            with another one, nobody waits for that search any more, and it is dropped unless it has begun.
    """

    number: int
    client: str
    folder: str
    commits: int
    content: bytes | None


class Reply(NamedTuple):
    """What it gives back.

    Attributes:
        number: of what it got; 0: it is ready.
        response: a SearchResponse on the wire; None where there is none.
        refused: how to make the InvalidArgument that refuses the request; None where it is another fault.
        failure: what went wrong in the process itself.
        has_begun: whether that came in the search itself: it may have taken all memory.
    """

    number: int
    response: bytes | None = None
    refused: dict[str, Any] | None = None
    failure: str = ""
    has_begun: bool = False


def pack(message: Request | Reply) -> bytes:
    """Return a frame."""
    content = pickle.dumps(tuple(message))
    return LENGTH.pack(len(content)) + content


def unpack_request(content: bytes) -> Request:
    """Return what a frame holds."""
    return Request(*pickle.loads(content))  # noqa: S301 - from our own service


def unpack_reply(content: bytes) -> Reply:
    """Return what a frame holds."""
    return Reply(*pickle.loads(content))  # noqa: S301 - from our own process
