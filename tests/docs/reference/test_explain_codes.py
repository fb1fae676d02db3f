"""The pages have every code and every outcome of an explanation, and no others."""

from __future__ import annotations

import ast

from classifeed.feeds.v1.explanation_pb2 import OfferFate
from classifeed_offers.domain.decide import Finding
from tests.docs.pages import REFERENCE, ROOT, entries

PAGE = REFERENCE / "explain-codes.md"
CODE = ROOT / "services/api/src/classifeed_api/explain"
SHOWN, FOUND, OUTCOMES = "What the stages show", "What only the list of offers finds", "Where the offer has come to"


def names(section: str) -> list[str]:
    return [entry.name for entry in entries(PAGE) if entry.section == section]


def codes_of_steps() -> set[str]:
    """Return the values of the argument `code` of all steps."""
    return {
        node.value
        for module in CODE.glob("*.py")
        for call in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "code"
        for node in ast.walk(keyword.value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_page_and_code_have_the_same_codes() -> None:
    of_files = {entry.name for entry in entries(REFERENCE / "error-codes.md")}
    assert sorted(names(SHOWN)) == sorted(codes_of_steps() - of_files)


def test_page_has_what_only_the_owner_finds() -> None:
    assert sorted(names(FOUND)) == sorted(finding.value for finding in Finding)


def test_page_has_every_outcome() -> None:
    outcomes = [name.removeprefix("OFFER_FATE_") for name in OfferFate.keys() if not name.endswith("_UNSPECIFIED")]  # noqa: SIM118
    assert names(OUTCOMES) == outcomes


def test_each_code_has_a_stage_a_cause_and_a_fix() -> None:
    for entry in entries(PAGE):
        assert entry.text.strip(), entry.name
        if entry.section != OUTCOMES:
            starts = [line.split(":")[0] for line in entry.text.splitlines() if line.startswith("- ")]
            assert starts == ["- Stage", "- Cause", "- Fix"], entry.name
