"""Request headers: ours, and the seller's for the origin they are meant for."""

from __future__ import annotations

import base64
import re
from typing import Final

from classifeed_common.fetch.addresses.urls import Link
from classifeed_common.fetch.exchanging.decoding import ACCEPTED
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.models import FetchRequest

Headers = list[tuple[bytes, bytes]]

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\xa0-\xff]{0,4096}")
# Reserved: they frame the message, belong to the connection, or would change what a whole file is.
_OURS: Final = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive",
    "accept-encoding", "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
})  # fmt: skip


def check_secrets(request: FetchRequest) -> None:
    """Return if the seller's headers and credentials can be sent.

    Raises:
        FetchFailed: REQUEST_INVALID; the reason contains no value.
    """
    for name, value in request.headers.items():
        if not _NAME.fullmatch(name):
            raise FetchFailed("REQUEST_INVALID", f"{name[:100]!r} is not the name of a header")
        if name.lower() in _OURS or name.lower().startswith("proxy-"):
            raise FetchFailed("REQUEST_INVALID", f"The header {name} cannot be set: it is reserved")
        if not _VALUE.fullmatch(value):
            raise FetchFailed(
                "REQUEST_INVALID", f"The value of the header {name} contains a character that HTTP forbids"
            )
    user, password = request.basic_auth or ("", "")
    if ":" in user or not (user + password).isprintable():
        raise FetchFailed(
            "REQUEST_INVALID",
            "The user name contains a colon, or the name or password contains an unprintable character",
        )


def headers_for(link: Link, request: FetchRequest, *, user_agent: str, with_secrets: bool, keep: bool) -> Headers:
    """Return the headers for one URL of a request that passed `check_secrets`.

    Args:
        link: requested URL.
        request: request with the seller's headers and validators.
        user_agent: value of User-Agent, unless the seller's headers set it.
        with_secrets: whether `link` has the origin that the seller's headers and credentials are meant for.
        keep: whether the connection may serve further requests.
    """
    headers = {"User-Agent": user_agent, "Accept": "*/*"}
    if with_secrets:
        sellers = {name.title(): value for name, value in request.headers.items()}
        if request.basic_auth is not None:
            sellers["Authorization"] = basic(*request.basic_auth)
        headers |= sellers
    headers |= {"Host": link.authority, "Accept-Encoding": ACCEPTED, "Connection": "keep-alive" if keep else "close"}
    headers |= {name: value for name, value in _validators(request).items() if value}
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def is_conditional(request: FetchRequest) -> bool:
    """Return whether a request is conditional: the server sends the file only if it has changed."""
    return any(_validators(request).values())


def basic(user: str, password: str) -> str:
    """Return the value of an `Authorization` header (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def sendable(value: str) -> str:
    """Return a validator that can be stored and sent back; empty if it is not valid in a header."""
    return value if _VALUE.fullmatch(value) else ""


def _validators(request: FetchRequest) -> dict[str, str]:
    return {"If-None-Match": sendable(request.etag), "If-Modified-Since": sendable(request.last_modified)}
