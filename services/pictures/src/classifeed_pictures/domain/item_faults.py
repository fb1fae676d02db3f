"""What can be wrong with a request, a notice or a row of an event file, in words for whoever sent it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from classifeed.pictures.v1.events_pb2 import DELETE_REASON_GIVEN_UP, DeletePicture
from classifeed_pictures.domain.urls.canonical import URL_LIMIT_CHARS, CanonicalRules, canonical_url

URL_INVALID: Final = "URL_INVALID"
REQUEST_INVALID: Final = "PICTURE_REQUEST_INVALID"
RECIPIENT_LIMIT_CHARS: Final = 128
REFERENCE_LIMIT_CHARS: Final = 1024
_NAMESPACE: Final = re.compile("[a-z][a-z0-9-]{0,31}")


class ItemFault(NamedTuple):
    """What is wrong with an item for good: a stable code, and a sentence."""

    code: str
    words: str


def key_or_fault(url: str, rules: CanonicalRules | None) -> str | ItemFault:
    """Return the canonical form of a URL, or what keeps it from being the key of anything.

    Args:
        url: the URL, or a key.
        rules: that make a key of it; None: it is one.
    """
    if not url:
        return ItemFault(URL_INVALID, "The URL is missing")
    if len(url) > URL_LIMIT_CHARS:
        return ItemFault(URL_INVALID, f"The URL has {len(url)} characters; {URL_LIMIT_CHARS} are allowed")
    if "\0" in url:
        return ItemFault(URL_INVALID, "The URL holds a NUL")
    canonical = url if rules is None else canonical_url(url, rules)
    if len(canonical) > URL_LIMIT_CHARS:
        return ItemFault(
            URL_INVALID, f"The URL has {len(canonical)} characters once it is encoded; {URL_LIMIT_CHARS} are allowed"
        )
    return canonical


def fault_of_request(namespace: str, recipient: str, reference: str) -> ItemFault | None:
    """Return what is wrong with what a request says beside the URL, or None."""
    if not _NAMESPACE.fullmatch(namespace):
        return ItemFault(
            REQUEST_INVALID, "The namespace has not 1 to 32 letters a-z, digits and -, with a letter at the begin"
        )
    if not is_recipient(recipient):
        return ItemFault(
            REQUEST_INVALID, f"The recipient has not 1 to {RECIPIENT_LIMIT_CHARS} characters, none of them NUL"
        )
    if len(reference) > REFERENCE_LIMIT_CHARS or "\0" in reference:
        return ItemFault(
            REQUEST_INVALID, f"The reference has more than {REFERENCE_LIMIT_CHARS} characters, or a NUL among them"
        )
    return None


def fault_of_deletion(deletion: DeletePicture) -> ItemFault | None:
    """Return what is wrong with the namespace of a deletion, which may be empty, or with its recipient; or None."""
    if deletion.reason == DELETE_REASON_GIVEN_UP and not is_recipient(deletion.recipient):
        return ItemFault(
            REQUEST_INVALID, f"The recipient has not 1 to {RECIPIENT_LIMIT_CHARS} characters, none of them NUL"
        )
    if deletion.namespace and not _NAMESPACE.fullmatch(deletion.namespace):
        return ItemFault(REQUEST_INVALID, "The namespace of the deletion is none; leave it empty for all namespaces")
    return None


def is_recipient(text: str) -> bool:
    """Return whether results can be addressed to it."""
    return 0 < len(text) <= RECIPIENT_LIMIT_CHARS and "\0" not in text
