"""Finds stored pictures that look like the picture of a URL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from classifeed.pictures.v1.picture_pb2 import PictureInfo, PictureState
from classifeed_common.db import Tx
from classifeed_common.errors import FailedPrecondition, NotFound
from classifeed_pictures.app.states.find_states import canonical_keys, find_states
from classifeed_pictures.domain.likeness import show_the_same
from classifeed_pictures.domain.similarity import is_plain, similarity_key
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.store.states.similar import BEGIN, Likeness, Place, SimilarRow, list_similar

_SHOWN: Final = 200
# Rows per read, and reads per page; most rows show the same picture, so one read usually suffices.
_LEAST_ROWS: Final = 200
_MOST_READS: Final = 10


@dataclass(frozen=True, slots=True)
class SimilarPictures:
    """Pictures that look like another one.

    Attributes:
        compared: picture that they were compared with.
        rows: pictures of a page, most similar first.
        next: place after which the next page begins; None: this is the last page.
    """

    compared: PictureInfo
    rows: Sequence[SimilarRow]
    next: Place | None


async def find_similar(
    tx: Tx,
    url: str,
    rules: CanonicalRules,
    *,
    distance: int,
    namespace: str = "",
    among: Sequence[str] = (),
    after: Place = BEGIN,
    limit: int,
) -> SimilarPictures:
    """Return a page of the stored pictures that look like the picture of a URL.

    Args:
        tx: transaction with the stored pictures.
        url: URL in any form, or the key of a picture that was put.
        rules: rules of canonical URLs.
        distance: maximum number of different bits of perceptual hashes.
        namespace: namespace of the listed pictures; empty: all.
        among: URLs or keys of the listed pictures; empty: all.
        after: end of the previous page.
        limit: maximum number of pictures on the page.

    Raises:
        NotFound: PICTURE_UNKNOWN.
        FailedPrecondition: NO_PICTURE_TO_COMPARE or PICTURE_TOO_PLAIN.
    """
    [state] = await find_states(tx, await canonical_keys([url], rules))
    compared = _choose(state, namespace)
    key = similarity_key(compared.perceptual_hash)
    if is_plain(key):
        raise FailedPrecondition(
            "PICTURE_TOO_PLAIN",
            f"The picture {state.url[:_SHOWN]!r} is of one colour, or nearly: it would be similar to all plain ones.",
        )
    hashes = {key for _, key in await canonical_keys(among, rules)} if among else None
    sought = Likeness(key, state.url_hash, distance, namespace, hashes)
    return await list_alike(tx, compared, sought, after=after, limit=limit)


async def list_alike(
    tx: Tx, compared: PictureInfo, sought: Likeness, *, after: Place = BEGIN, limit: int
) -> SimilarPictures:
    """Return a page of the pictures that have near hashes and show the same.

    If very many pictures have near hashes and show other things, the page may have fewer pictures than the limit
    although others follow.
    """
    rows: list[SimilarRow] = []
    batch = max(limit + 1, _LEAST_ROWS)
    for _ in range(_MOST_READS):
        near = await list_similar(tx, sought, after=after, limit=batch)
        rows += (row for row in near if not row.is_damaged and show_the_same(compared, row.info))
        if len(rows) > limit:
            return SimilarPictures(compared, rows[:limit], rows[limit - 1].place)
        if len(near) < batch:
            return SimilarPictures(compared, rows, None)
        after = near[-1].place
    return SimilarPictures(compared, rows, after)


def _choose(state: PictureState, namespace: str) -> PictureInfo:
    """Return the picture of a state in a namespace; otherwise the newest one."""
    if not state.known:
        raise NotFound("PICTURE_UNKNOWN", f"Nothing is known of the picture {state.url[:_SHOWN]!r}. Request it first.")
    if not state.pictures:
        raise FailedPrecondition(
            "NO_PICTURE_TO_COMPARE",
            f"The picture {state.url[:_SHOWN]!r} is not stored, so there is nothing to compare. "
            "`classifeed picture state` shows why.",
        )
    return max(state.pictures, key=lambda info: (info.namespace == namespace, info.store_time.ToNanoseconds()))
