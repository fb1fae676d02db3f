"""Idempotency keys of the jobs of orders: a repeated order creates no second job."""

from __future__ import annotations


def download_key(url_hash: bytes, attempt: int) -> str:
    """Return the key of a download."""
    return f"download/{url_hash.hex()}/{attempt}"


def resize_key(url_hash: bytes, attempt: int) -> str:
    """Return the key of a copy that needs sizes which its source lacks."""
    return f"resize/{url_hash.hex()}/{attempt}"
