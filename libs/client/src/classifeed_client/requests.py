"""Helpers for requests, shared by both clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

from classifeed.feeds.v1 import feed_service_pb2
from classifeed.pictures.v1 import picture_service_pb2

LARGEST_PAGE: Final = 1000
# Small enough that a slow connection sends one before the server times out an idle upload.
_CHUNK_BYTES: Final = 64 * 1024
_PICTURE_PIECE_BYTES: Final = 1 << 20
RequestT = TypeVar("RequestT")


def next_page(request: RequestT, token: str) -> RequestT:
    """Return a copy of the request for the page of a token."""
    page: Any = type(request)()
    page.CopyFrom(request)
    page.page_token = token
    found: RequestT = page
    return found


def size_of(file: Path) -> int:
    """Return the size of a file in bytes; raise OSError if it does not exist."""
    return file.stat().st_size


def pieces_of(
    spec: feed_service_pb2.UploadSpec, source: BinaryIO, on_sent: Callable[[int], None] | None
) -> Iterator[feed_service_pb2.UploadFeedRequest]:
    """Yield the requests of an upload; `on_sent` receives the number of bytes sent so far."""
    yield feed_service_pb2.UploadFeedRequest(spec=spec)
    sent = 0
    while chunk := source.read(_CHUNK_BYTES):
        yield feed_service_pb2.UploadFeedRequest(chunk=chunk)
        sent += len(chunk)
        if on_sent:
            on_sent(sent)


def open_content(content: bytes | Path) -> BinaryIO:
    """Return the content as a binary stream; raise OSError if the file cannot be read."""
    return BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def picture_pieces_of(key: str, namespace: str, source: BinaryIO) -> Iterator[picture_service_pb2.PutPictureRequest]:
    """Yield the requests that put a picture. An empty picture is one request, which the service refuses."""
    data = source.read(_PICTURE_PIECE_BYTES)
    yield picture_service_pb2.PutPictureRequest(url=key, namespace=namespace, data=data)
    while data := source.read(_PICTURE_PIECE_BYTES):
        yield picture_service_pb2.PutPictureRequest(data=data)
