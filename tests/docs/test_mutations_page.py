"""The mutations fit the code they change, the tests they name exist, and the page lists them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tools.mutation_list import MUTATIONS, Mutation
from tools.mutations import BROKEN, CAUGHT, NOT_CAUGHT, ROOT, fits, missing_tests, render, run

from tests.docs.pages import REFERENCE


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mutation_fits_the_code_and_names_its_tests(mutation: Mutation) -> None:
    assert fits(mutation), (
        f"`before` of {mutation.name} does not occur exactly once in {mutation.file}: bring it up to date"
    )
    assert mutation.before != mutation.after
    assert mutation.tests
    assert missing_tests(mutation) == []


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(mutation.name for mutation in MUTATIONS).items() if count > 1] == []


def test_page_is_up_to_date() -> None:
    page = (REFERENCE / "mutations.md").read_text("utf-8")
    assert page == render(), "python -m tools.mutations --page > docs/reference/mutations.md"


@pytest.mark.slow
def test_verdict_says_whether_tests_ran_and_failed() -> None:
    [cheap] = [mutation for mutation in MUTATIONS if mutation.name == "sender-without-the-lease-heard"]
    before = (ROOT / cheap.file).read_bytes()
    assert run(cheap).word == CAUGHT
    assert run(replace(cheap, after="if mark.fence > fence:")).word == NOT_CAUGHT
    assert run(replace(cheap, after="if is no Python:")).word == BROKEN
    assert run(replace(cheap, tests=(f"{cheap.tests[0]}_that_does_not_exist",))).word == BROKEN
    assert run(replace(cheap, before="what is not there")).word == BROKEN
    assert (ROOT / cheap.file).read_bytes() == before
