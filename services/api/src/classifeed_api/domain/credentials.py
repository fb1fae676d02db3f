"""Credentials of feeds: the login and headers that a site needs before it serves the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from classifeed.feeds.v1.feed_pb2 import FeedCredentials, FeedSource
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.fetch import FetchFailed, FetchRequest, check_url
from classifeed_common.fetch.exchanging.headers import check_secrets

# The limit of SourceRecord, less the overhead of encryption.
_MAX_BYTES: Final = 96 * 1024 - 64


def wanted_credentials(source: FeedSource, paths: Collection[str]) -> FeedCredentials | None:
    """Return the credentials that an update sets; None to keep the stored ones, empty ones to remove them."""
    named = "settings.source.credentials" in paths
    if not named and not {"settings", "settings.source"} & set(paths):
        return None
    if source.HasField("credentials"):
        return source.credentials
    return FeedCredentials() if named else None


def is_empty(credentials: FeedCredentials) -> bool:
    """Whether they contain neither a login nor a header."""
    return not credentials.HasField("basic_auth") and not credentials.headers


def check_site(before: str, after: str, *, feed: str, field: str) -> None:
    """Return if stored credentials may be sent to a new link: scheme, host and port must be the same as before.

    Args:
        before: link that the credentials were given for.
        after: new link of the feed; both links have passed the check of links.
        feed: resource name of the feed.
        field: path of the credentials in the request.

    Raises:
        InvalidArgument: the credentials would be sent to another site; the error names `field`.
    """
    if before == after:
        return
    old, new = (check_url(url, allow_loopback=True) for url in (before, after))
    if old.origin == new.origin:
        return
    words = "must be given again, or named without a value to be deleted, as the link leads to another site"
    raise InvalidArgument(
        "FEED_CREDENTIALS_OF_ANOTHER_SITE",
        f"The link of {feed} would lead from {old.scheme}://{old.authority} to {new.scheme}://{new.authority}, and the "
        f"credentials that are kept were given for the first: nothing was changed. {field} {words}.",
        metadata={"feed": feed},
        violations=[FieldViolation(field, words)],
    )


def check_credentials(credentials: FeedCredentials, *, field: str) -> None:
    """Return if credentials can be stored and sent to a site.

    Raises:
        InvalidArgument: they cannot; the error names the path of each wrong part, below `field`, but no value.
    """
    violations = [FieldViolation(f"{field}{part}", words) for part, words in sorted(_faults(credentials))]
    if violations:
        raise InvalidArgument(
            "FEED_CREDENTIALS_INVALID",
            "The credentials cannot be used: " + "; ".join(f"{it.field}: {it.description}" for it in violations),
            violations=violations,
        )


def _faults(credentials: FeedCredentials) -> Iterator[tuple[str, str]]:
    """Yield the path of each part that cannot be used, with the reason."""
    basic_auth = credentials.basic_auth
    if credentials.HasField("basic_auth"):
        yield from _refusal(".basic_auth", FetchRequest("", basic_auth=(basic_auth.username, basic_auth.password)))
    seen: set[str] = set()
    for name, value in credentials.headers.items():
        part, lower = f".headers[{name!r}]", name.lower()
        yield from _refusal(part, FetchRequest("", headers={name: value}))
        if lower == "authorization" and credentials.HasField("basic_auth"):
            yield part, "is also set by basic_auth; give one of the two"
        if lower in seen:
            yield part, "is given twice; upper and lower case are the same"
        seen.add(lower)
    if credentials.ByteSize() > _MAX_BYTES:
        yield "", f"must be {_MAX_BYTES} bytes at most in total"


def _refusal(part: str, request: FetchRequest) -> Iterator[tuple[str, str]]:
    try:
        check_secrets(request)
    except FetchFailed as error:
        yield part, error.reason
