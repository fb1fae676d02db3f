"""The pages of rules have examples that the services accept, and every key of their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from classifeed_cleanweb.automatics import Automatics
from classifeed_cleanweb.automatics.forms import MAX_FORMS
from classifeed_cleanweb.rules.loading import rules_schema
from classifeed_common.snapshot.document import check_document, read_document
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.domain.verdicts import Verdict
from classifeed_moderation.rules.loading import rules_snapshot
from tests.docs.pages import REFERENCE

MODERATION, CLEANWEB = REFERENCE / "moderation-rules.md", REFERENCE / "cleanweb-rules.md"
_EXAMPLE = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def moderation_schema() -> dict[str, Any]:
    schema: dict[str, Any] = yaml.safe_load(
        files("classifeed_moderation.rules").joinpath("rules.schema.yaml").read_bytes()
    )
    return schema


def example(page: Path, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the example of a page after validating it against a schema."""
    [text] = _EXAMPLE.findall(page.read_text("utf-8"))
    document: dict[str, Any] = read_document(text.encode(), is_json=False)
    check_document(document, Draft202012Validator(schema))
    return document


def keys(schema: object) -> Iterator[str]:
    """Yield the names of all properties."""
    if isinstance(schema, Mapping):
        yield from schema.get("properties", ())
        for each in schema.values():
            yield from keys(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from keys(each)


def test_example_of_moderation_means_what_its_page_says() -> None:
    rules = RuleSet.of(example(MODERATION, moderation_schema()))
    insult = [Verdict("text_toloka_insult")]
    statuses = [rules.judge(insult, kind=kind, region_ids=[225]).status for kind in (Kind.COMMENT, Kind.OFFER)]
    assert statuses == ["APPROVED", "DISAPPROVED"]


async def test_tags_of_the_file_that_comes_with_the_service_are_those_of_the_page() -> None:
    snapshot = rules_snapshot(None)
    await snapshot.open()
    verdicts = [Verdict("police"), Verdict("request")]
    judged = snapshot.current.value.judge(verdicts, kind=Kind.POINT, region_ids=[], tags=["other"])
    assert f"leaves\n`{', '.join(judged.tags)}`" in MODERATION.read_text("utf-8")


def test_example_of_cleanweb_finds_what_its_page_says() -> None:
    automatics = Automatics.load(example(CLEANWEB, rules_schema()))
    found = {kind: automatics.judge("Discounted, order now", [], kind).findings for kind in ("offer", "comment")}
    assert [finding.excerpt for finding in found["offer"]] == ["Discounted", "order now"]
    assert found["comment"] == ()
    assert f"up to {MAX_FORMS:,} forms" in CLEANWEB.read_text("utf-8")


@pytest.mark.parametrize(("page", "schema"), [(MODERATION, moderation_schema()), (CLEANWEB, rules_schema())])
def test_page_has_every_key_of_the_schema(page: Path, schema: Mapping[str, Any]) -> None:
    text = page.read_text("utf-8")
    assert {key for key in keys(schema) if not re.search(rf"[\b`.\s{{]{key}\b", text)} == set()
