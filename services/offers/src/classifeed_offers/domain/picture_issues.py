"""Warnings to the seller about failed pictures: one for each offer and link."""

from __future__ import annotations

from typing import Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import ISSUE_KIND_PICTURE, ISSUE_LEVEL_WARNING, OfferError
from classifeed.offers.v1.offer_pb2 import OfferPicture
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_offers.domain.offers import digest_of

FAILED: Final = "PICTURE_FAILED"
_UNAVAILABLE_FOR_LEGAL_REASONS: Final = 451
_URL_CHARS: Final = 200


class _Words(NamedTuple):
    title: str
    suggestion: str


WORDS: Final = {
    "PICTURE_NOT_FOUND": _Words("The picture is not there", "Correct the link, or put the picture at its place."),
    "PICTURE_NOT_A_PICTURE": _Words(
        "What is at the link is no picture",
        "Give the link of the picture itself, as JPEG, PNG, WebP, GIF or AVIF, and not of a page that shows it.",
    ),
    "PICTURE_TOO_LARGE": _Words("The file of the picture is too large", "Publish the picture in a smaller file."),
    "PICTURE_TOO_MANY_PIXELS": _Words(
        "The picture is too large to be shown", "Publish the picture with less width and height, or fewer frames."
    ),
    "PICTURE_HOST_DOWN": _Words(
        "The server of the picture cannot be reached",
        "Check that the link opens from outside of your network; the picture is tried again.",
    ),
    "PICTURE_REFUSED_ADDRESS": _Words(
        "The link of the picture does not lead to the public internet",
        "Give a link that starts with https:// and that anybody on the internet can open.",
    ),
    "PICTURE_BLOCKED": _Words(
        "The server of the picture keeps us out",
        "Make the picture public, and let our downloads through the protection of the site.",
    ),
    "PICTURE_NOINDEX": _Words(
        "The server of the picture forbids that searches show it",
        "Remove noimageindex, noindex and none from the header X-Robots-Tag of the picture, or give another link.",
    ),
    "PICTURE_ROBOTS_DISALLOWED": _Words(
        "The robots.txt of the server keeps us from the picture",
        "Allow the path of the picture for Classifeed in the robots.txt of its server, or give another link.",
    ),
    "PICTURE_DELETED": _Words(
        "The picture was deleted by an operator", "Give the link of another picture, or ask us why it was deleted."
    ),
    FAILED: _Words(
        "The picture could not be loaded", "Check that a browser shows the picture at the link without a password."
    ),
}


def _by_failure(**codes: str) -> dict[str, str]:
    return {failure: code for code, failures in codes.items() for failure in failures.split()}


CODES: Final = _by_failure(
    PICTURE_NOT_FOUND="HTTP_NOT_FOUND HTTP_GONE",
    PICTURE_NOT_A_PICTURE="PICTURE_NOT_A_PICTURE PICTURE_UNSUPPORTED PICTURE_BROKEN EMPTY_RESPONSE",
    PICTURE_TOO_LARGE="TOO_LARGE RATIO_TOO_HIGH",
    PICTURE_TOO_MANY_PIXELS=(
        "PICTURE_TOO_MANY_PIXELS PICTURE_TOO_MANY_FRAMES PICTURE_TOO_MUCH_MEMORY PICTURE_DECODE_TIMEOUT"
    ),
    PICTURE_HOST_DOWN=(
        "DNS_NOT_FOUND DNS_FAILED CONNECT_REFUSED CONNECT_TIMEOUT CONNECT_FAILED TLS_EXPIRED TLS_WRONG_NAME "
        "TLS_UNTRUSTED TLS_FAILED HTTP_UNAVAILABLE HTTP_SERVER_ERROR PROTOCOL_ERROR READ_TIMEOUT TOO_SLOW "
        "TOTAL_TIMEOUT CONNECTION_LOST TRUNCATED PICTURE_ROBOTS_UNREACHABLE"
    ),
    PICTURE_REFUSED_ADDRESS="ADDRESS_REFUSED URL_INVALID URL_SCHEME URL_PORT URL_HAS_CREDENTIALS",
    PICTURE_BLOCKED=("HTTP_UNAUTHORIZED HTTP_FORBIDDEN HTTP_TOO_MANY_REQUESTS HTTP_CLIENT_ERROR"),
    PICTURE_NOINDEX="PICTURE_NOINDEX",
    PICTURE_ROBOTS_DISALLOWED="PICTURE_ROBOTS_DISALLOWED",
    PICTURE_DELETED="PICTURE_DELETED",
)


DELETED: Final = "PICTURE_DELETED"
NEVER_SHOWN: Final = frozenset({"PICTURE_NOINDEX", DELETED})
"""Failures of pictures that were downloaded but may not be shown: their host forbids it, or an operator did."""


def code_of(failure: LoadFailure) -> str:
    """Return the error code that sellers see for a failure."""
    if failure.http_status == _UNAVAILABLE_FOR_LEGAL_REASONS:
        return "PICTURE_BLOCKED"
    return CODES.get(failure.code, FAILED)


def picture_issue(external_id: str, picture: OfferPicture, *, ordinal: int = 0, line: int = 0) -> OfferError:
    """Return the warning about a failed picture; a link gets the same warning in every load until it is stored."""
    code = code_of(picture.failure)
    words = WORDS[code]
    url = picture.url if len(picture.url) <= _URL_CHARS else f"{picture.url[: _URL_CHARS - 1]}…"
    reason = picture.failure.message.strip().rstrip(".") or picture.failure.code
    if reason.startswith(f"{picture.url} "):  # the message has the link already
        reason = f"it{reason.removeprefix(picture.url)}"
    return OfferError(
        error_id=digest_of("\0".join((external_id, code, picture.url)).encode()).hex(),
        external_id=external_id,
        ordinal=ordinal,
        level=ISSUE_LEVEL_WARNING,
        kind=ISSUE_KIND_PICTURE,
        code=code,
        field="picture",
        line=line,
        excerpt=url,
        title=words.title,
        message=f"The picture {url} could not be loaded: {reason}.",
        suggestion=words.suggestion,
    )
