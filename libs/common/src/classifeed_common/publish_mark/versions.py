"""SQL of versions that never fall, not even when the clock steps back or a row is purged and made anew."""

from __future__ import annotations

from typing import Final

FIRST_VERSION: Final = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
"""The version of a new row: the database's clock in µs, above whatever a purged row of the same key had."""


def next_version(column: str) -> str:
    """Return the SQL of the version after `column`: one more, or the database's clock in µs where that is greater.

    Args:
        column: the version's column, qualified where its name alone is ambiguous (`offers.version` in ON CONFLICT).
    """
    return f"greatest({column} + 1, {FIRST_VERSION})"


NEXT_VERSION: Final = next_version("version")
"""For `UPDATE … SET version = {NEXT_VERSION}`."""
