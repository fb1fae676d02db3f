"""Redirects: decides whether a redirect is followed, and where it leads."""

from __future__ import annotations

from urllib.parse import quote, urljoin

from classifeed_common.fetch.addresses.guard import AddressGuard
from classifeed_common.fetch.addresses.urls import Link
from classifeed_common.fetch.exchanging.responses import Head
from classifeed_common.fetch.failed import FetchFailed


class Redirects:
    """The redirects of one request, from its URL to the file.

    Args:
        first: URL of the request.
        limit: largest number of redirects.
        has_secrets: whether the request has the seller's headers or credentials. They are sent to the URL's origin
            only, and never again after a redirect to another origin, not even back at the first one.
    """

    def __init__(self, first: Link, *, limit: int, has_secrets: bool) -> None:
        self._limit = limit
        self._has_secrets = has_secrets
        self._seen = {str(first)}
        self.link = first
        self.with_secrets = has_secrets

    @property
    def secrets_left_behind(self) -> bool:
        """Whether a redirect left the origin that the secrets are meant for."""
        return self._has_secrets and not self.with_secrets

    def follow(self, head: Head, guard: AddressGuard) -> None:
        """Set `link` to the redirect's target.

        Raises:
            FetchFailed: REDIRECT_INVALID, one of the codes REDIRECT_*, or an error of `check_url`.
        """
        here = self.link
        there = self._target(head, guard)
        if str(there) in self._seen:
            raise FetchFailed("REDIRECT_LOOP", f"{here.shown} redirects back to {there.shown}", http_status=head.status)
        if len(self._seen) > self._limit:
            raise FetchFailed(
                "REDIRECT_LIMIT", f"There were more than {self._limit} redirects", http_status=head.status
            )
        if self._has_secrets and here.scheme == "https" and there.scheme == "http":
            raise FetchFailed("REDIRECT_DOWNGRADE", f"{here.shown} redirects to {there.shown}", http_status=head.status)
        self._seen.add(str(there))
        self.with_secrets = self.with_secrets and there.origin == here.origin
        self.link = there

    def _target(self, head: Head, guard: AddressGuard) -> Link:
        location = _text_of(head.headers.get("location", "")).replace(" ", "%20")
        if not location:
            raise FetchFailed(
                "REDIRECT_INVALID", f"{self.link.shown} redirects without an address", http_status=head.status
            )
        try:
            # Checked before the join too: urljoin drops line breaks and cannot read some hosts.
            absolute = urljoin(str(self.link), location) if location.isprintable() else location
            return guard.check_url(absolute)
        except ValueError as error:
            raise FetchFailed(
                "REDIRECT_INVALID",
                f"{self.link.shown} redirects to something that is not an address",
                http_status=head.status,
            ) from error
        except FetchFailed as refused:
            raise FetchFailed(
                refused.code,
                f"{self.link.shown} redirects to a link that is refused. {refused.reason}",
                http_status=head.status,
            ) from refused


def _text_of(location: str) -> str:
    """Return the header as text; servers write UTF-8 into it."""
    raw = location.encode("latin-1")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return quote(raw, safe="!#$%&'()*+,-./:;=?@[]_~")
