from __future__ import annotations

from pathlib import Path
from string import Formatter

from classifeed_processor.domain.error_codes import FAULTS, ISSUES
from classifeed_processor.domain.error_codes_page import render
from classifeed_processor.domain.faults import FeedFault

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "error-codes.md"


def test_the_page_of_codes_is_up_to_date():
    assert PAGE.read_text() == render(), (
        "run python -m classifeed_processor.domain.error_codes_page > docs/reference/error-codes.md"
    )


def test_every_code_has_all_its_words():
    assert not set(FAULTS) & set(ISSUES)
    for issue in ISSUES.values():
        assert 0 < len(issue.title) <= 80
        assert issue.message.endswith(".")
        assert issue.suggestion.endswith(".")
        assert issue.expected
        assert {name for _, name, _, _ in Formatter().parse(issue.message) if name} <= {
            "value", "field", "length", "limit", "size", "unit", "count", "currency", "first_line",
        }  # fmt: skip
    for fault in FAULTS.values():
        assert fault.cause.endswith(".")
        assert fault.suggestion.endswith(".")


def test_a_fault_says_what_where_and_what_to_do():
    assert FeedFault("FILE_EMPTY", "The file is empty").message == (
        "The file is empty. Check how the file is made, and load it again."
    )
    assert "(line 3, column 4)" in FeedFault("MALFORMED_XML", "x", line=3, column=4).message
    assert "(line 3)" in FeedFault("MALFORMED_XML", "x", line=3).message
