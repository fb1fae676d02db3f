"""Copies of a picture are found by it and other pictures are not: hundreds of pairs, out of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from classifeed_common.db import Database
from classifeed_pictures.decoding import distance
from classifeed_pictures.domain.similarity import is_plain, similarity_key

from .gallery import found_by_each, hang_all, make_gallery

_ROUNDS = 24
_SEED = 20261125


async def test_copies_are_found_and_other_pictures_are_not(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    database = await migrated_database("classifeed_pictures")
    gallery = make_gallery(_ROUNDS, _SEED)
    await hang_all(database, gallery)
    by_name = {picture.name: picture for picture in gallery}
    pairs: Counter[str] = Counter()
    found_pairs: Counter[str] = Counter()
    found_count = right = 0
    async for picture, found in found_by_each(database, [each for each in gallery if not each.way]):
        # The index finds what a comparison with every picture finds, no more and no less.
        near = {
            other.name
            for other in gallery
            if other is not picture
            and not is_plain(similarity_key(other.hashed))
            and distance(picture.hashed, other.hashed) <= 10
        }
        assert found == near
        copies = {other.name: other.way for other in gallery if other.motif == picture.motif and other.way}
        pairs.update(copies.values())
        found_pairs.update(way for name, way in copies.items() if name in found)
        found_count += len(found)
        right += sum(by_name[name].motif == picture.motif for name in found)
    shares = {way: round(found_pairs[way] / count, 3) for way, count in pairs.items()}
    recall = found_pairs.total() / pairs.total()
    precision = right / found_count
    print(f"{pairs.total()} pairs: recall {recall:.4f}, precision {precision:.4f}, recall by way {shares}")
    assert pairs.total() >= 500
    assert recall >= 0.97, shares
    assert min(shares.values()) >= 0.93, shares
    assert precision >= 0.97
