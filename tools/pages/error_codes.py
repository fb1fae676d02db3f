"""The page of all error codes of files and offers."""

from __future__ import annotations

import re

from classifeed.feeds.v1 import load_pb2
from classifeed_feeds.error_codes import ERROR, FAULTS, ISSUES

_HEAD = """# Error codes of feeds

`make pages` makes this page from the table in `libs/feeds/src/classifeed_feeds/error_codes.py`.

## The whole file

The task is FAILED and no offer was changed. The task has the line and the column of the fault, if there is one.
"""
_OFFERS = """
## One offer

An offer with an ERROR is not applied: an existing offer stays unchanged, a new one is not created. An offer with a
WARNING is applied. All other offers of the file are loaded. Several equal faults in one field of an offer are one
issue, with the position of the first and the count of all.

The issues of a load are kept as long as the load. `classifeed task errors` groups the first 10,000 issues, `--offer`
lists the issues of one offer, and `--csv` and `--xlsx` write a row for each issue.

Words in *italics* are placeholders for elements, and … for values from the file. An issue of your file has the element
names of its format: in YML *title* is `<name>`. The [table of formats](formats/README.md) compares the names.
"""

_NAMES_IN_BRACES = re.compile(r"\{([a-z_]+)(?::,)?\}")
# Placeholders that each format replaces by its names of the fields.
_NAMES = {
    f"{name}_tag": f"*{name}*"
    for name in (
        "offer",
        "title",
        "description",
        "price",
        "currency",
        "category",
        "categories",
        "picture",
    )
} | {
    "id_words": "*id*",
    "title_words": "the element of the title",
    "price_words": "an amount as the format writes it, such as 1499.90",
    "currency_fix": "Name the currency as the format does.",
    "category_words": "a category as the format names it",
    "because": "",
    "instead": "the offer is shown without one, or the sale price was used",
    "source": "and the origin of the currency is named",
    "unit": "bytes or elements",
    "expected": "the value that the issue names",
}


def render() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD]
    for fault in FAULTS.values():
        parts.append(
            f"\n### {fault.code}\n\n{fault.title}.\n\n- Cause: {_escape(fault.cause)}\n- Fix: "
            f"{_escape(fault.suggestion)}\n"
        )
        if fault.upload_suggestion:
            parts.append(f"- Fix for an uploaded file: {fault.upload_suggestion}\n")
    parts.append(_OFFERS)
    for issue in sorted(ISSUES.values(), key=lambda issue: issue.level != ERROR):
        level = "ERROR" if issue.level == ERROR else "WARNING"
        kind = load_pb2.IssueKind.Name(issue.kind).removeprefix("ISSUE_KIND_").lower()
        parts.append(
            f"\n### {issue.code}\n\n{issue.title}. ({level}, {kind})\n\n- Message: {_say(issue.message)}\n"
            f"- Cause: {_say(issue.cause)}\n- Accepted is: {_say(issue.expected)}\n"
            f"- Fix: {_say(issue.suggestion)}\n"
        )
    return "".join(parts)


def _say(text: str) -> str:
    named = _NAMES_IN_BRACES.sub(lambda match: _NAMES.get(match[1], "…"), text)
    return _escape(named)


def _escape(text: str) -> str:
    """Return a text escaped for Markdown."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
