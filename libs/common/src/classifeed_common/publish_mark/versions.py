"""SQL for versions that never fall, even if the clock steps back or a purged row is created again."""

from __future__ import annotations

from typing import Final

FIRST_VERSION: Final = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
"""Version of a new row: the database's clock in µs, above any version of a purged row with the same key."""


def next_version(column: str) -> str:
    """Return the SQL for the version after `column`: one more, or the database's clock in µs if that is greater.

    Args:
        column: column of the version, qualified where its name alone is ambiguous (`offers.version` in ON CONFLICT).
    """
    return f"greatest({column} + 1, {FIRST_VERSION})"


NEXT_VERSION: Final = next_version("version")
"""For `UPDATE … SET version = {NEXT_VERSION}`."""
