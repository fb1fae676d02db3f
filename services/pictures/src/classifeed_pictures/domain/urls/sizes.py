"""A limit on the text of all URLs of a request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from classifeed_common.errors import FieldViolation, InvalidArgument

URLS_LIMIT_BYTES: Final = 1 << 20
"""Maximum total size of the URLs of a request, in bytes of UTF-8."""


def check_size(urls: Iterable[str]) -> None:
    """Return if the URLs of a request are short enough in total.

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
