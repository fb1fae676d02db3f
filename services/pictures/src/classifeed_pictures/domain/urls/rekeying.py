"""What a change of the rules does to a key that something is kept under."""

from __future__ import annotations

from collections.abc import Iterable

from classifeed_pictures.domain.urls.canonical import CanonicalRules, canonical_url


def rekeyed(state_url: str, rules: CanonicalRules) -> str | None:
    """Return the key that `rules` make of the URL of a state; None: it stays under the one that it has.

    A state knows the URL as older rules have made it. What they have removed is gone, so rules that remove less make
    the same key of it: their other keys come by new requests, from the URLs as their sources have them.
    """
    canonical = canonical_url(state_url, rules)
    return None if canonical == state_url else canonical


def possible_keys(url: str, history: Iterable[CanonicalRules]) -> set[str]:
    """Return all keys that the picture of a link can be kept under.

    Args:
        url: as its source has it.
        history: rules that have been in force, the oldest first; those in force are the last.
    """
    keys: set[str] = set()
    for rules in history:
        keys = {*keys, canonical_url(url, rules), *(canonical_url(key, rules) for key in keys)}
    return keys
