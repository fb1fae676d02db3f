"""Pages that are made from the code are up to date."""

from __future__ import annotations

import pytest
from tools.pages.__main__ import DOCS, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "run `make pages`"
