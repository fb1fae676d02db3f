"""The version of how files are read."""

from __future__ import annotations

from typing import Final

# Grows by one whenever the same file may give other offers than before: loads of files that have not changed are
# skipped only as long as it stays.
PARSER_VERSION: Final = 4
