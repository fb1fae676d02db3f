"""Page tokens of lists in the order of a time: the time and the key of a page's last item."""

from __future__ import annotations

from datetime import datetime

from classifeed_common.rpc.paging import page_token_refused, read_page_token, write_page_token


def write_place(time: datetime, key: str) -> str:
    """Return the token of the page after an item."""
    return write_page_token(f"{time.isoformat()} {key}")


def parse_place(token: str, *, begin: str = "") -> tuple[datetime | str, str]:
    """Return time and key of a token; without a token, a time before all others and `begin`.

    Raises:
        InvalidArgument: PAGE_TOKEN_INVALID.
    """
    place = read_page_token(token)
    if not place:
        return "-infinity", begin
    time, _, key = place.partition(" ")
    try:
        return datetime.fromisoformat(time), key
    except ValueError:
        raise page_token_refused() from None
