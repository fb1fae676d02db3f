"""Page tokens: the key of the last item of a page, as an opaque text."""

from __future__ import annotations

import base64
import binascii

from classifeed_common.errors import FieldViolation, InvalidArgument


def write_page_token(key: str) -> str:
    """Return the token of the page after `key`."""
    return base64.urlsafe_b64encode(key.encode()).decode()


def read_page_token(token: str) -> str:
    """Return the key that a token stands for; "" for no token, which begins with the first page.

    Raises:
        InvalidArgument: PAGE_TOKEN_INVALID, no method gave this token out.
    """
    try:
        key = base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        key = "\0"
    if "\0" in key:  # no column can be compared with it
        raise InvalidArgument(
            "PAGE_TOKEN_INVALID",
            "page_token is not a token of this method. Begin again without a token.",
            violations=[FieldViolation("page_token", "must be the token of the previous response")],
        )
    return key
