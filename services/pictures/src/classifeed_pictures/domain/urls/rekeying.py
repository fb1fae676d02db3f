"""The effect of changed rules on the key of a stored picture."""

from __future__ import annotations

from collections.abc import Iterable

from classifeed_pictures.domain.urls.canonical import CanonicalRules, canonical_url


def rekeyed(state_url: str, rules: CanonicalRules) -> str | None:
    """Return the new key of a state's URL by `rules`; None if its key stays the same.

    A state has the URL as older rules made it. Parts that these removed are lost, so rules that remove less give the
    same key; their other keys come from new requests with the original URLs.
    """
    canonical = canonical_url(state_url, rules)
    return None if canonical == state_url else canonical


def possible_keys(url: str, history: Iterable[CanonicalRules]) -> set[str]:
    """Return all keys under which the picture of a link can be stored.

    Args:
        url: URL as its source has it.
        history: rules that have been in force, oldest first; the last ones are in force.
    """
    keys: set[str] = set()
    for rules in history:
        keys = {*keys, canonical_url(url, rules), *(canonical_url(key, rules) for key in keys)}
    return keys
