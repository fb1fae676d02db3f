from __future__ import annotations

import re
from string import Formatter

import pytest
from tools.pages.error_codes import render

from classifeed_feeds.error_codes import FAULTS, ISSUES
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.registry import FORMATS

DETAILS = {
    "value", "field", "length", "limit", "size", "unit", "count", "currency", "first_line", "expected", "because",
    "price", "source", "instead",
}  # fmt: skip


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_code_has_all_its_words() -> None:
    assert not set(FAULTS) & set(ISSUES)
    for issue in ISSUES.values():
        assert 0 < len(issue.title) <= 80
        assert issue.message.endswith(".")
        assert issue.suggestion.endswith((".", "_fix}"))
        assert issue.expected
        assert issue.cause.endswith(".")
    for fault in FAULTS.values():
        assert fault.cause.endswith(".")
        assert fault.suggestion.endswith(".")


@pytest.mark.parametrize("found", FORMATS, ids=lambda found: found.name)
def test_every_code_has_a_message_in_the_names_of_every_format(found: Format) -> None:
    words = found.names.words()
    assert found.names.currency_fix.endswith(".")
    for issue in ISSUES.values():
        assert placeholders(issue.message) | placeholders(issue.expected) <= set(words) | DETAILS, issue.code
        assert placeholders(issue.suggestion) <= set(words), issue.code
        assert "<>" not in issue.suggestion.format(**words), issue.code


def test_the_page_names_every_placeholder_of_formats() -> None:
    assert not re.search(r"\{\w+(:,)?\}", render())


def test_a_fault_says_what_where_and_what_to_do() -> None:
    assert FeedFault("FILE_EMPTY", "The file is empty").message == (
        "The file is empty. Check how the file is created, and load it again."
    )
    assert "(line 3, column 4)" in FeedFault("MALFORMED_XML", "x", line=3, column=4).message
    own = FeedFault("MALFORMED_XML", "x", line=3, fix="Do that.")
    assert own.message == own.below(0).message == "x (line 3). Do that."
    assert "(line 3)" in FeedFault("MALFORMED_XML", "x", line=3).message
