"""The index finds copies of a picture and no other pictures, for hundreds of pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from classifeed_common.db import Database
from classifeed_imaging.pixels.hashing import distance
from classifeed_pictures.domain.likeness import show_the_same
from classifeed_pictures.domain.similarity import is_plain, similarity_key

from .gallery import found_by_each, hang_all, make_gallery

_ROUNDS = 14
_SEED = 20261125
_LEAST = {
    "texture": 0.98,
    "shapes": 0.98,
    "text": 0.94,
    "gradient": 0.85,
    "sample": 0.9,
    "furniture": 0.93,
    "logo": 0.94,
    "room_plan": 0.84,
}


async def test_copies_are_found_and_other_pictures_are_not(
    migrated_database: Callable[[str], Awaitable[Database]], record_testsuite_property: Callable[[str, object], None]
) -> None:
    database = await migrated_database("classifeed_pictures")
    gallery = make_gallery(_ROUNDS, _SEED)
    await hang_all(database, gallery)
    by_name = {picture.name: picture for picture in gallery}
    pairs: Counter[str] = Counter()
    found_pairs: Counter[str] = Counter()
    found_count = right = 0
    async for picture, found in found_by_each(database, [each for each in gallery if not each.way]):
        # The index finds exactly the pictures that a comparison with every picture finds.
        near = {
            other.name
            for other in gallery
            if other is not picture
            and not is_plain(similarity_key(other.hashed))
            and distance(picture.hashed, other.hashed) <= 10
            and show_the_same(picture.info, other.info)
        }
        assert found == near
        copies = {other.name: other.kind for other in gallery if other.motif == picture.motif and other.way}
        pairs.update(copies.values())
        found_pairs.update(kind for name, kind in copies.items() if name in found)
        found_count += len(found)
        right += sum(by_name[name].motif == picture.motif for name in found)
    shares = {kind: round(found_pairs[kind] / count, 3) for kind, count in pairs.items()}
    recall = found_pairs.total() / pairs.total()
    precision = right / found_count
    seen = f"{pairs.total()} pairs: recall {recall:.4f}, precision {precision:.4f}, recall by kind {shares}"
    record_testsuite_property("similar pictures", seen)
    assert pairs.total() >= 500, seen
    assert recall >= 0.96, seen
    assert precision >= 0.98, seen
    assert all(share >= _LEAST[kind] for kind, share in shares.items()), seen
