"""The page of codes of failed downloads."""

from __future__ import annotations

from classifeed_common.fetch.faults import FEED_FIXES, FETCH_FAULTS, PICTURE_FIXES

_HEAD = """# Codes of failed downloads

`make pages` makes this page from the table in `classifeed_common.fetch.faults`.

A failed download changes nothing: the offers of the last load stay unchanged, and a stored picture stays.
"""


def render() -> str:
    """Return the page as Markdown."""
    return _HEAD + "".join(
        f"\n## {fault.code}\n\n{fault.title}.\n\n- Cause: {fault.cause}\n{_fixes(fault.code)}"
        for fault in FETCH_FAULTS.values()
    )


def _fixes(code: str) -> str:
    of_feeds, of_pictures = FEED_FIXES[code], PICTURE_FIXES[code]
    if of_feeds == of_pictures:
        return f"- Fix: {of_feeds}\n"
    return f"- Fix for a feed: {of_feeds}\n- Fix for a picture: {of_pictures}\n"
