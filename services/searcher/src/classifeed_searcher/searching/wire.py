"""Messages between the service and a search process: frames of a length and a pickled tuple."""

from __future__ import annotations

import pickle
import struct
from typing import Any, Final, NamedTuple

LENGTH: Final = struct.Struct("<I")


class Request(NamedTuple):
    """Message to a search process.

    Attributes:
        number: number of the search; the reply has it, too.
        client: client of the documents.
        folder: folder of the current generation.
        commits: number of commits of the generation, all of which the search must see.
        content: serialized SearchRequest. None with number 0: close replaced files. None with another number: the
            search was cancelled; drop it unless it has begun.
    """

    number: int
    client: str
    folder: str
    commits: int
    content: bytes | None


class Reply(NamedTuple):
    """Message from a search process.

    Attributes:
        number: number of the request; 0: the process is ready.
        response: serialized SearchResponse; None: the search failed.
        refused: arguments of the InvalidArgument to raise; None: the request is valid.
        failure: error of the process itself.
        has_begun: whether the error came during the search, which may have used up the memory.
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
    """Return the request in a frame."""
    return Request(*pickle.loads(content))  # noqa: S301 - from our own service


def unpack_reply(content: bytes) -> Reply:
    """Return the reply in a frame."""
    return Reply(*pickle.loads(content))  # noqa: S301 - from our own process
