"""The docs page of all codes: run as a module, it writes docs/reference/fetch-codes.md to its standard output."""

from __future__ import annotations

import sys

from classifeed_common.fetch.faults import FETCH_FAULTS

_HEAD = """# Codes of failed downloads

Made from the table in `classifeed_common.fetch.faults`; a test keeps the two the same. A download that failed changes
nothing: the offers of the last load stay as they are.
"""


def render() -> str:
    """Return the page as Markdown."""
    return _HEAD + "".join(
        f"\n## {fault.code}\n\n{fault.title}.\n\n- Cause: {fault.cause}\n- Fix: {fault.suggestion}\n"
        for fault in FETCH_FAULTS.values()
    )


if __name__ == "__main__":
    sys.stdout.write(render())
