"""The first occurrence wins in any order, and a collision of hashes is not a duplicate."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from classifeed_feeds.scanning.duplicates import DuplicateIds, FirstPlace, IdHashes

ids = st.lists(st.text(alphabet="abcé", min_size=1, max_size=2), max_size=60)


@given(ids)
def test_every_repetition_is_found_with_its_first_place(external_ids: list[str]) -> None:
    hashes = IdHashes()
    for external_id in external_ids:
        hashes.add(external_id, 1, 0)
    duplicates = hashes.finish()
    for _ in range(2):
        first: dict[str, FirstPlace] = {}
        for ordinal, external_id in enumerate(external_ids, 1):
            found = duplicates.find_first(external_id, ordinal, ordinal * 10)
            assert found == first.get(external_id)
            first.setdefault(external_id, FirstPlace(ordinal, ordinal * 10))
        duplicates.rewind()


def test_different_ids_with_the_same_hash_are_distinguished() -> None:
    class Colliding(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 7

    duplicates = DuplicateIds(array("q", [7]))
    one, two, three = Colliding("one"), Colliding("two"), Colliding("three")
    assert [duplicates.find_first(text, n, n) for n, text in enumerate((one, two, three), 1)] == [None, None, None]
    assert [duplicates.find_first(text, 9, 9) for text in (three, two, one)] == [
        FirstPlace(3, 3),
        FirstPlace(2, 2),
        FirstPlace(1, 1),
    ]
