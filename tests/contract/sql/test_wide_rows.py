"""The check finds statements with many columns whose rows are read by position, and none that are read by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.checks.wide_rows import list_positional

_MODULE = """
SQL = load_queries(__package__, "wide.sql")
_OTHER: Final = load_queries(__package__)["wide"]
_WIDE = SQL["wide"]
_NARROW = SQL["narrow"]


async def read(tx):
    {call}
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("await tx.execute(_WIDE, {})", ["store.py:9 wide"]),
        ("await tx.execute(SQL['wide'] if tx else _NARROW)", ["store.py:9 wide"]),
        ("await tx.execute(_OTHER)", ["store.py:9 wide"]),
        ("await tx.execute(store.SQL['wide'])", ["store.py:9 wide"]),
        ("await tx.execute(_NARROW)", []),
        ("await fetch_named(tx, _WIDE)", []),
        ("await cursor.execute(_WIDE)", []),
    ],
)
def test_wide_statements_run_for_tuples_are_found(tmp_path: Path, call: str, found: list[str]) -> None:
    (tmp_path / "store.py").write_text(_MODULE.format(call=call))
    wide = {tmp_path / "wide.sql": ["wide"], tmp_path / "queries.sql": ["wide"]}
    assert list_positional(tmp_path, wide) == found
