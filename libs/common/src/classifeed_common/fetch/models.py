"""The request for a download, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one download.

    Attributes:
        max_bytes: largest size of the stored file, and of the body as transferred.
        connect_s: timeout of a name look-up, and of a connection with TLS, in seconds.
        read_s: timeout for the next bytes and for the head of a response, and window of the minimum rate, in seconds.
        total_s: timeout of the download with all redirects, in seconds; waiting for permits is not counted.
        min_bytes_per_s: minimum rate of the body over a window of `read_s` seconds of waiting for it.
        redirects: largest number of redirects.
        disk_reserve_bytes: disk space that must stay free.
    """

    max_bytes: int = 2 << 30
    connect_s: float = 10
    read_s: float = 30
    total_s: float = 1800
    min_bytes_per_s: int = 1024
    redirects: int = 5
    disk_reserve_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Limits of connections that stay open for the next request to the same name at the same address.

    Attributes:
        idle_s: longest idle time in seconds; 0: none are kept. Below the 60 s after which firewalls drop connections.
        per_host: largest number per scheme, name and port.
        overall: largest number.
    """

    idle_s: float = 0
    per_host: int = 4
    overall: int = 256


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A file to download.

    Attributes:
        url: absolute URL, http or https, without user name and password.
        headers: the seller's headers, sent to the origin of `url` only.
        basic_auth: the seller's user name and password, sent to the origin of `url` only.
        etag: ETag of the caller's copy; makes the request conditional.
        last_modified: Last-Modified of the caller's copy, as the server wrote it; makes the request conditional.
        owner: owner of the download, who has a share of the name look-ups and one permit per host; empty: nobody.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    basic_auth: tuple[str, str] | None = field(default=None, repr=False)
    etag: str = ""
    last_modified: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A complete downloaded file.

    Attributes:
        sha256: hash of the stored file, 64 hexadecimal digits.
        size_bytes: size of the stored file.
        final_url: URL after redirects, with its query: do not show it to others than the seller.
        etag: ETag for the next request; empty: the server sent none.
        last_modified: Last-Modified for the next request; empty: the server sent none.
        http_status: status of the response.
        content_type: Content-Type as the server wrote it, which may be wrong; empty: the server sent none.
        cache_control: Cache-Control as the server wrote it, several joined by commas; empty: the server sent none.
        robots_tag: values of `X-Robots-Tag`, one per line; rules for a named robot apply up to the end of the line.
    """

    sha256: str
    size_bytes: int
    final_url: str
    etag: str
    last_modified: str
    http_status: int
    content_type: str
    cache_control: str = ""
    robots_tag: str = ""


@dataclass(frozen=True, slots=True)
class NotModified:
    """The caller already has the current file; nothing was written.

    Attributes:
        http_status: 304.
        etag: ETag for the next request.
        last_modified: Last-Modified for the next request.
        final_url: URL after redirects.
        cache_control: see `Fetched`.
        robots_tag: see `Fetched`.
    """

    http_status: int
    etag: str
    last_modified: str
    final_url: str
    cache_control: str = ""
    robots_tag: str = ""
