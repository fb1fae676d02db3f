"""What whoever runs the suite may do about a code, beside the fix for sellers.

Services do not know how their suite was started; the command line does.
"""

from __future__ import annotations

from typing import Final

_HINTS: Final = {
    "ADDRESS_REFUSED": "To try a link to this machine, start the suite with CLASSIFEED_FETCH_ALLOW_LOOPBACK=1 "
    "(for tests only).",
}


def hint_of(code: str) -> str:
    """Return a sentence; empty where there is nothing that a developer could do."""
    return _HINTS.get(code, "")
