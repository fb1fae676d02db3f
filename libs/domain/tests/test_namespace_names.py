"""Resource names of namespaces and of numbered resources in them."""

from __future__ import annotations

import pytest

from classifeed_domain.namespace_names import parse_namespace, parse_numbered


def test_names_are_taken_apart() -> None:
    assert parse_namespace("sellers/s-1/feeds/default") == ("s-1", "default")
    assert parse_numbered("sellers/s-1/feeds/default/tasks/12", "tasks") == ("s-1", "default", 12)


@pytest.mark.parametrize("name", ["sellers/a", "sellers/a/feeds/", "x/a/feeds/b", "sellers/a/feeds/b/offers/c", ""])
def test_other_names_are_refused_with_an_example(name: str) -> None:
    with pytest.raises(ValueError, match="such as sellers/shop/feeds/default"):
        parse_namespace(name)


@pytest.mark.parametrize(
    "name",
    ["sellers/a/feeds/b", "sellers/a/feeds/b/tasks/0", "sellers/a/feeds/b/tasks/x", "sellers/a/feeds/b/fetches/1"],
)
def test_other_numbers_are_refused_with_an_example(name: str) -> None:
    with pytest.raises(ValueError, match="such as sellers/shop/feeds/default/tasks/1"):
        parse_numbered(name, "tasks")
