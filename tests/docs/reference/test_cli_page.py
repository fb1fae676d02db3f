"""The reference of the command line is made from the help of the program."""

from __future__ import annotations

from tools.cli_page import render

from tests.docs.pages import REFERENCE


def test_page_is_up_to_date() -> None:
    page = (REFERENCE / "cli.md").read_text("utf-8")
    assert page == render(), "python -m tools.cli_page > docs/reference/cli.md"
