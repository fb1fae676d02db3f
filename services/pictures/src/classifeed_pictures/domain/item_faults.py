"""Faults of a request, a notice or a row of an event file, with messages for the sender."""

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
    """A permanent fault of an item: a stable code, and a sentence without a full stop."""

    code: str
    words: str


def key_or_fault(url: str, rules: CanonicalRules | None) -> str | ItemFault:
    """Return the canonical form of a URL, or the reason why it cannot be a key.

    Args:
        url: URL, or a key.
        rules: rules that make the key; None: `url` is a key already.
    """
    if not url:
        return ItemFault(URL_INVALID, "The URL is missing")
    if len(url) > URL_LIMIT_CHARS:
        return ItemFault(URL_INVALID, f"The URL has {len(url)} characters; {URL_LIMIT_CHARS} are allowed")
    if "\0" in url:
        return ItemFault(URL_INVALID, "The URL contains a NUL")
    canonical = url if rules is None else canonical_url(url, rules)
    if len(canonical) > URL_LIMIT_CHARS:
        return ItemFault(
            URL_INVALID, f"The URL has {len(canonical)} characters when encoded; {URL_LIMIT_CHARS} are allowed"
        )
    return canonical


def fault_of_request(namespace: str, recipient: str, reference: str) -> ItemFault | None:
    """Return the fault of a request apart from its URL, or None."""
    if not _NAMESPACE.fullmatch(namespace):
        return ItemFault(
            REQUEST_INVALID, "The namespace must have 1 to 32 letters a-z, digits and -, and begin with a letter"
        )
    if not is_recipient(recipient):
        return ItemFault(
            REQUEST_INVALID, f"The recipient must have 1 to {RECIPIENT_LIMIT_CHARS} characters, none of them NUL"
        )
    if len(reference) > REFERENCE_LIMIT_CHARS or "\0" in reference:
        return ItemFault(
            REQUEST_INVALID, f"The reference must have at most {REFERENCE_LIMIT_CHARS} characters, none of them NUL"
        )
    return None


def fault_of_deletion(deletion: DeletePicture) -> ItemFault | None:
    """Return the fault of a deletion's recipient or of its namespace, which may be empty; or None."""
    if deletion.reason == DELETE_REASON_GIVEN_UP and not is_recipient(deletion.recipient):
        return ItemFault(
            REQUEST_INVALID, f"The recipient must have 1 to {RECIPIENT_LIMIT_CHARS} characters, none of them NUL"
        )
    if deletion.namespace and not _NAMESPACE.fullmatch(deletion.namespace):
        return ItemFault(REQUEST_INVALID, "The namespace of the deletion is invalid; leave it empty for all namespaces")
    return None


def is_recipient(text: str) -> bool:
    """Return whether a text can be a recipient of results."""
    return 0 < len(text) <= RECIPIENT_LIMIT_CHARS and "\0" not in text
