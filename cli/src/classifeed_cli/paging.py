"""Collection of items over several pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response")
_LARGEST_PAGE: Final = 1000


def collect(call: Callable[[Request], Response], request: Request, items: str, limit: int) -> Response:
    """Return a response with up to `limit` items, from as many pages as needed.

    Its next_page_token is empty if there are no more items.

    Args:
        call: Function that returns a page.
        request: Request without page size and page token; each call gets a copy that has them.
        items: Name of the repeated field with the items.
        limit: Maximum number of items, from 1.
    """
    asked: Any = type(request)()
    asked.CopyFrom(request)
    asked.page_size = min(_LARGEST_PAGE, limit)
    found: Any = call(asked)
    collected = getattr(found, items)
    while found.next_page_token and len(collected) < limit:
        asked.page_size = min(_LARGEST_PAGE, limit - len(collected))
        asked.page_token = found.next_page_token
        page: Any = call(asked)
        collected.extend(getattr(page, items))
        found.next_page_token = page.next_page_token
    response: Response = found
    return response
