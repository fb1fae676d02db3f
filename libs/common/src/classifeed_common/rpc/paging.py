"""Page tokens: the key of the last item of a page, as an opaque text."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, Final

from classifeed_common.errors import FieldViolation, InvalidArgument

_NUL: Final = "\0"  # no column can be compared with it


def write_page_token(key: str) -> str:
    """Return the token of the page after `key`."""
    return base64.urlsafe_b64encode(key.encode()).decode()


def read_page_token(token: str) -> str:
    """Return the key in a token; "" for no token, which means the first page.

    Raises:
        InvalidArgument: PAGE_TOKEN_INVALID, no method issued this token.
    """
    try:
        key = base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise page_token_refused() from None
    if _NUL in key:
        raise page_token_refused()
    return key


def write_page_values(*values: str | int) -> str:
    """Return the token of the page after the item with this key."""
    return write_page_token(json.dumps(values, ensure_ascii=False))


def read_page_values(token: str, begin: Sequence[Any]) -> list[Any]:
    """Return the values in a token; without a token, `begin`, which also defines their types.

    Raises:
        InvalidArgument: PAGE_TOKEN_INVALID, no method issued this token, or one with another key did.
    """
    if not token:
        return list(begin)
    try:
        values = json.loads(read_page_token(token))
    except ValueError:
        raise page_token_refused() from None
    if not isinstance(values, list) or [*map(type, values)] != [*map(type, begin)]:
        raise page_token_refused()
    if any(_NUL in value for value in values if isinstance(value, str)):
        raise page_token_refused()
    return values


def page_token_refused() -> InvalidArgument:
    """Return the error for a token that the method did not issue."""
    return InvalidArgument(
        "PAGE_TOKEN_INVALID",
        "page_token is not a token of this method. Begin again without a token.",
        violations=[FieldViolation("page_token", "must be the token of the previous response")],
    )
