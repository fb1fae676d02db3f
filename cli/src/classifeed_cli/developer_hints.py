"""Hints for developers who run the suite, by error code, in addition to the fixes for sellers.

The command line has them because services do not know how their suite was started.
"""

from __future__ import annotations

from typing import Final

_HINTS: Final = {
    "ADDRESS_REFUSED": "To try a link to this machine, start the suite with CLASSIFEED_FETCH_ALLOW_LOOPBACK=1 "
    "(for tests only).",
}


def hint_of(code: str) -> str:
    """Return the hint for a code; empty if there is none."""
    return _HINTS.get(code, "")
