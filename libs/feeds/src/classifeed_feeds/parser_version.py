"""Version of the parser of files."""

from __future__ import annotations

from typing import Final

# Increment it with every change by which the same file may yield other offers: a load of an unchanged file is skipped
# only if the version is unchanged, too.
PARSER_VERSION: Final = 4
