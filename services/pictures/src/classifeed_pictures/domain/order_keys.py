"""Idempotency keys of the jobs that carry out orders: one that comes again makes no second job."""

from __future__ import annotations


def download_key(url_hash: bytes, attempt: int) -> str:
    """Return the key of a download."""
    return f"download/{url_hash.hex()}/{attempt}"


def resize_key(url_hash: bytes, attempt: int) -> str:
    """Return the key of a copy that needs other sizes than its source has."""
    return f"resize/{url_hash.hex()}/{attempt}"
