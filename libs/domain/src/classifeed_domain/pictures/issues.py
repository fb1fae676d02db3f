"""Warnings that sellers see about failed pictures: their texts, and the failures that cause them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from classifeed.pictures.v1.picture_pb2 import LoadFailure

FAILED: Final = "PICTURE_FAILED"
DELETED: Final = "PICTURE_DELETED"
NEVER_SHOWN: Final = frozenset({"PICTURE_NOINDEX", DELETED})
"""Failures of pictures that were downloaded but may not be shown: their host forbids it, or an operator did."""
_UNAVAILABLE_FOR_LEGAL_REASONS: Final = 451


class PictureIssue(NamedTuple):
    """Texts of a warning about a failed picture.

    Attributes:
        title: Name of the warning for people.
        expected: Description of accepted pictures.
        suggestion: Fix.
        cause: Usual cause of the failure.
    """

    title: str
    expected: str
    suggestion: str
    cause: str


PICTURE_ISSUES: Final[Mapping[str, PictureIssue]] = {
    "PICTURE_NOT_FOUND": PictureIssue(
        "The picture is not there",
        "a link at which a picture is",
        "Correct the link, or put the picture at its place.",
        "The file was moved, renamed or removed, or not yet made: its server responds with 404 or 410.",
    ),
    "PICTURE_NOT_A_PICTURE": PictureIssue(
        "The link leads to something that is not a picture",
        "a JPEG, PNG, WebP, GIF or AVIF file",
        "Give the link of the picture itself, as JPEG, PNG, WebP, GIF or AVIF, and not of a page that shows it.",
        "The link leads to a page, to a file of another kind (such as SVG or HEIC), or to a picture that is damaged.",
    ),
    "PICTURE_TOO_LARGE": PictureIssue(
        "The file of the picture is too large",
        "a file of at most 20 MiB",
        "Publish the picture in a smaller file.",
        "Pictures come as the camera made them, without compression for the web.",
    ),
    "PICTURE_TOO_MANY_PIXELS": PictureIssue(
        "The picture is too large to be shown",
        "at most 50 megapixels, and an animation of moderate length",
        "Publish the picture with less width and height, or fewer frames.",
        "Width and height, or the number of frames, would take more memory or time than a picture may take.",
    ),
    "PICTURE_HOST_DOWN": PictureIssue(
        "The server of the picture cannot be reached",
        "a server that responds within a minute, with a valid certificate",
        "Check that the link opens from outside of your network; the picture is tried again.",
        "The server is down or slow, its name is not known, its certificate is not valid, or a firewall drops us.",
    ),
    "PICTURE_REFUSED_ADDRESS": PictureIssue(
        "The link of the picture does not lead to the public internet",
        "a link with http:// or https:// that anybody on the internet can open",
        "Give a link that starts with https:// and that anybody on the internet can open.",
        "The host is an address inside of a private network, or the link holds a password or an unusual port.",
    ),
    "PICTURE_BLOCKED": PictureIssue(
        "The server of the picture refuses our requests",
        "a picture that is public, also for programs",
        "Make the picture public, and let our downloads through the protection of the site.",
        "The server requires a password, limits how often it is read, or keeps programs or countries out.",
    ),
    "PICTURE_NOINDEX": PictureIssue(
        "The server of the picture forbids that searches show it",
        "a picture whose response has no X-Robots-Tag with noimageindex, noindex or none",
        "Remove noimageindex, noindex and none from the header X-Robots-Tag of the picture, or give another link.",
        "The site, or the network that delivers its pictures, sends X-Robots-Tag with noimageindex, noindex or none.",
    ),
    "PICTURE_ROBOTS_DISALLOWED": PictureIssue(
        "The robots.txt of the server forbids the download",
        "a picture that the robots.txt of its server allows to programs",
        "Allow the path of the picture for Classifeed in the robots.txt of its server, or give another link.",
        "A rule of robots.txt for all programs, or for Classifeed, disallows the path of the picture.",
    ),
    "PICTURE_DELETED": PictureIssue(
        "The picture was deleted by an operator",
        "a link of another picture",
        "Give the link of another picture, or ask us why it was deleted.",
        "An operator has deleted the picture. It is not downloaded again while its link stays the same.",
    ),
    FAILED: PictureIssue(
        "The picture could not be loaded",
        "a link that leads to a picture without detours",
        "Check that a browser shows the picture at the link without a password.",
        "The server redirects in circles, sends something unexpected, or the picture could not be stored.",
    ),
}


def _by_failure(**codes: str) -> dict[str, str]:
    return {failure: code for code, failures in codes.items() for failure in failures.split()}


CODES: Final[Mapping[str, str]] = _by_failure(
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


def code_of(failure: LoadFailure) -> str:
    """Return the error code that sellers see for a failure."""
    if failure.http_status == _UNAVAILABLE_FOR_LEGAL_REASONS:
        return "PICTURE_BLOCKED"
    return CODES.get(failure.code, FAILED)
