"""A servicer joined from families has each method of its service once."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed.search.v1.search_service_pb2_grpc import SearchServiceServicer, add_SearchServiceServicer_to_server
from classifeed_common.rpc.server import Servicer

METHODS = sorted(name for name in vars(SearchServiceServicer) if not name.startswith("_"))


def family(methods: list[str], drained: list[str] | None = None) -> Any:
    """Return an object with these methods; with a list, it records there that it is drained."""
    members: dict[str, Any] = {name: lambda self, name=name: name for name in methods}
    if drained is not None:
        members["drain"] = lambda self: drained.append(methods[0])
    return type("Family", (), members)()


def test_each_method_is_that_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[Any] = []
    drained: list[str] = []

    def add_SearchServiceServicer_to_server(servicer: Any, server: Any) -> None:
        joined.append(servicer)

    add_SearchServiceServicer_to_server.__module__ = SearchServiceServicer.__module__
    families = [family(METHODS[:1], drained), family(METHODS[1:])]
    servicer = Servicer.join(add_SearchServiceServicer_to_server, *families)
    servicer.add(None)  # type: ignore[arg-type] # nothing is served
    assert servicer.name == "classifeed.search.v1.SearchService"
    assert [getattr(joined[0], name)() for name in METHODS] == METHODS
    assert servicer.drain is not None
    servicer.drain()
    assert drained == METHODS[:1]


@pytest.mark.parametrize(
    ("families", "count"), [([METHODS[1:]], 0), ([METHODS, METHODS[:1]], 2)], ids=["missing", "twice"]
)
def test_a_method_that_is_missing_or_there_twice_is_refused(families: list[list[str]], count: int) -> None:
    with pytest.raises(TypeError, match=f"{METHODS[0]} must be in one of .*, not in {count}"):
        Servicer.join(add_SearchServiceServicer_to_server, *map(family, families))
