"""Pages of reviewers from packaged templates."""

from __future__ import annotations

from typing import Final

from classifeed_common.http.pages.templates import Html, Templates, read_file

PATH: Final = "/reviews"
PAGES: Final = Templates(__package__, path=PATH, brand="Reviews", script="reviews.js")


def instructions_of(project: str) -> Html:
    """Return the instructions of a project."""
    return Html(read_file(__package__, "instructions", f"{project}.html"))
