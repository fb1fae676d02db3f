"""Collection of items over several pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

Response = TypeVar("Response")
_LARGEST_PAGE: Final = 1000


def collect(ask: Callable[[int, str], Response], items: str, limit: int) -> Response:
    """Return a response with up to `limit` items, from as many pages as needed.

    Its next_page_token is empty if there are no more items.

    Args:
        ask: Function that returns a page, for a page size and a page token.
        items: Name of the repeated field with the items.
        limit: Maximum number of items, from 1.
    """
    found: Any = ask(min(_LARGEST_PAGE, limit), "")
    collected = getattr(found, items)
    while found.next_page_token and len(collected) < limit:
        page: Any = ask(min(_LARGEST_PAGE, limit - len(collected)), found.next_page_token)
        collected.extend(getattr(page, items))
        found.next_page_token = page.next_page_token
    response: Response = found
    return response
