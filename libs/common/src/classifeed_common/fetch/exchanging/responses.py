"""The head of a response, and the failure for each status without a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from classifeed_common.fetch.addresses.urls import Link
from classifeed_common.fetch.exchanging.retry_after import parse_retry_after
from classifeed_common.fetch.failed import FetchFailed

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_WHOLE: Final = frozenset({200, 203})
_JOINED_BY: Final = {"content-encoding": ", ", "cache-control": ", ", "x-robots-tag": "\n"}
_CODES: Final = {
    401: "HTTP_UNAUTHORIZED",
    403: "HTTP_FORBIDDEN",
    404: "HTTP_NOT_FOUND",
    410: "HTTP_GONE",
    429: "HTTP_TOO_MANY_REQUESTS",
    503: "HTTP_UNAVAILABLE",
}


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of a response; names in lower case, the first of several headers wins, lists are joined."""

    status: int
    headers: dict[str, str]

    @classmethod
    def of(cls, status: int, raw: list[tuple[bytes, bytes]]) -> Head:
        """Return the head from raw headers."""
        headers: dict[str, str] = {}
        for name, value in raw:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
            if key in _JOINED_BY and key in headers:
                text = f"{headers.pop(key)}{_JOINED_BY[key]}{text}"
            headers.setdefault(key, text)
        return cls(status, headers)

    @property
    def is_redirect(self) -> bool:
        """Whether the response redirects."""
        return self.status in _REDIRECTS

    @property
    def is_whole_file(self) -> bool:
        """Whether the body is the complete file."""
        return self.status in _WHOLE

    @property
    def has_no_body(self) -> bool:
        """Whether the response has no body."""
        return self.status == 304 or (self.announced_bytes == 0 and "transfer-encoding" not in self.headers)

    @property
    def announced_bytes(self) -> int | None:
        """Length of the body, if the server announces it; otherwise None."""
        return int(self.headers["content-length"]) if "content-length" in self.headers else None


def refusal(head: Head, link: Link, *, secrets_left_behind: bool, now: datetime | None = None) -> FetchFailed:
    """Return the failure for a response that is neither a file nor a redirect.

    Args:
        head: head of the response.
        link: URL that responded.
        secrets_left_behind: whether a redirect to another origin dropped the seller's credentials or headers.
        now: reference time for a date in `Retry-After`; None: the system's clock.
    """
    fallback = {4: "HTTP_CLIENT_ERROR", 5: "HTTP_SERVER_ERROR"}.get(head.status // 100, "HTTP_UNEXPECTED")
    reason = f"{link.shown} responded with status {head.status}"
    if secrets_left_behind:
        reason += "; it was reached by a redirect to another host, scheme or port, where no credentials are sent"
    retry_after_s = None
    if head.status == 429 or head.status >= 500:
        retry_after_s = parse_retry_after(head.headers.get("retry-after", ""), now or datetime.now(UTC))
    return FetchFailed(_CODES.get(head.status, fallback), reason, http_status=head.status, retry_after_s=retry_after_s)
