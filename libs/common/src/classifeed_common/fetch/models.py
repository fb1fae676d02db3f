"""The request for a download, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one download may take.

    Attributes:
        max_bytes: Of the file as it is stored, and of the body as it travels.
        connect_s: Longest look-up of a name, and longest way to a connection that can be used, in seconds.
        read_s: Longest silence, longest wait for the head of a response, and window of the lowest rate, in seconds.
        total_s: Longest download with all its redirects, in seconds; waiting for permits is not counted.
        min_bytes_per_s: Lowest rate of the body over a window of `read_s` seconds of waiting for it.
        redirects: How many are followed.
        disk_reserve_bytes: What stays free on the disk.
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
    """Connections that stay open after a response, for the next request to the same name at the same address.

    Attributes:
        idle_s: For how long, in seconds; 0: not at all. Below the 60 s after which firewalls forget connections.
        per_host: How many to one scheme, name and port.
        overall: How many.
    """

    idle_s: float = 0
    per_host: int = 4
    overall: int = 256


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A file to download.

    Attributes:
        url: Absolute, http or https, without user name and password.
        headers: The seller's, sent to the origin of `url` alone.
        basic_auth: The seller's user name and password, sent to the origin of `url` alone.
        etag: Of the file that the caller has; makes the request conditional.
        last_modified: Of the file that the caller has, as the server wrote it; makes the request conditional.
        owner: Whom the download is for: of the look-ups of names it gets a share, and of permits one a host. Empty:
            no one in particular.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    basic_auth: tuple[str, str] | None = field(default=None, repr=False)
    etag: str = ""
    last_modified: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was downloaded whole.

    Attributes:
        sha256: Of the file as it is stored, 64 hexadecimal digits.
        size_bytes: Of the file as it is stored.
        final_url: Where it came from after redirects, with its query: not to be shown to others than the seller.
        etag: For the next request; empty when the server sent none.
        last_modified: For the next request; empty when the server sent none.
        http_status: Of the response.
        content_type: As the server wrote it; empty when it sent none. Servers lie.
        cache_control: As the server wrote it, several joined by commas; empty when it sent none.
        robots_tag: The values of `X-Robots-Tag`, a line for each; what a line says of one robot ends with it.
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
    """The caller has the file already; nothing was written.

    Attributes:
        http_status: 304.
        etag: For the next request.
        last_modified: For the next request.
        final_url: Which address responded so after redirects.
        cache_control: As of `Fetched`.
        robots_tag: As of `Fetched`.
    """

    http_status: int
    etag: str
    last_modified: str
    final_url: str
    cache_control: str = ""
    robots_tag: str = ""
