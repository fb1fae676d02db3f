"""Mutations fit the current code, and their tests exist."""

from __future__ import annotations

from collections import Counter

import pytest
from tools.mutation_list import MUTATIONS, Mutation
from tools.mutations import fits, missing_tests


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
