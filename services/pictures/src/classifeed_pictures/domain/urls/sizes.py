"""How much text the URLs of one request may have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from classifeed_common.errors import FieldViolation, InvalidArgument

URLS_LIMIT_BYTES: Final = 1 << 20
"""Bytes of all URLs of a request together, in UTF-8."""


def check_size(urls: Iterable[str]) -> None:
    """Pass when the URLs of a request are short enough together.

    Raises:
        InvalidArgument: URLS_TOO_LARGE.
    """
    size = sum(len(url.encode("utf-8", "surrogatepass")) for url in urls)
    if size > URLS_LIMIT_BYTES:
        raise InvalidArgument(
            "URLS_TOO_LARGE",
            f"The URLs have {size} bytes together, and {URLS_LIMIT_BYTES} are allowed. Send fewer URLs at once.",
            violations=[FieldViolation("urls", f"may have {URLS_LIMIT_BYTES} bytes together")],
        )
