"""Finds similar pictures by pieces of their keys, and fills in missing keys."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.similarity import pieces_near, similarity_key
from classifeed_pictures.store.states.damaged_rows import read_info

Address: TypeAlias = tuple[str, int, str]
"""Namespace, group and name of a stored picture."""
_SQL: Final = load_queries(__package__, "similar.sql")
_PIECES: Final = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place of a picture in a list ordered by distance, then by address."""

    distance: int
    namespace: str
    group_id: int
    name: str


BEGIN: Final = Place(-1, "", 0, "")
"""Before all pictures."""


@dataclass(frozen=True, slots=True)
class SimilarRow:
    """A picture that looks like another one.

    Attributes:
        place: place in the list.
        url: URL of the picture; empty if its state no longer exists.
        info: info of the picture; empty if its row is damaged.
        is_damaged: whether its row is damaged.
    """

    place: Place
    url: str
    info: PictureInfo
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Likeness:
    """The criteria of a search.

    Attributes:
        key: key of the picture that others are compared with; never that of a plain one.
        url_hash: hash of its URL, whose own pictures are left out.
        distance: maximum number of different bits.
        namespace: namespace of the results; empty: any.
        among: hashes of the URLs whose pictures are compared; None: all pictures.
    """

    key: int
    url_hash: bytes
    distance: int
    namespace: str = ""
    among: Collection[bytes] | None = None


async def list_similar(tx: Tx, sought: Likeness, *, after: Place = BEGIN, limit: int) -> list[SimilarRow]:
    """Return the next pictures after a place, most similar first. The transaction uses indexes only from then on."""
    await tx.execute(_SQL["forbid_scans"])
    parameters: dict[str, Any] = {
        "key": sought.key,
        "url_hash": sought.url_hash,
        "namespace": sought.namespace,
        "after_distance": after.distance,
        "after_namespace": after.namespace,
        "after_group": after.group_id,
        "after_name": after.name,
        "limit": limit,
    }
    if sought.among is not None:
        statement = _SQL["list_similar_of_urls"]
        parameters |= {"url_hashes": list(sought.among), "distance": sought.distance}
    else:
        statement = _SQL["list_similar"]
        parameters["keys"] = await _list_keys(tx, sought)
    rows = await fetch_named(tx, statement, parameters, prepare=False)
    return [_similar_of(row) for row in rows]


def _similar_of(row: Any) -> SimilarRow:
    info = read_info(row)
    place = Place(row.distance, row.namespace, row.group_id, row.name)
    return SimilarRow(place, row.url, info or PictureInfo(), is_damaged=info is None)


async def _list_keys(tx: Tx, sought: Likeness) -> list[int]:
    cursor = await tx.execute(_SQL["list_keys"], key_parameters(sought.key, sought.distance), prepare=False)
    return [int(row[0]) for row in await cursor.fetchall()]


def key_parameters(key: int, distance: int) -> dict[str, Any]:
    """Return the parameters of the statement `list_keys`."""
    return {
        "key": key,
        "distance": distance,
        **dict(zip(_PIECES, pieces_near(key, distance), strict=True)),
    }


async def fill_keys(tx: Tx, after: Address, limit: int) -> list[Address]:
    """Set the keys of the next rows without one after an address, and return their addresses in order."""
    place = dict(zip(("namespace", "group_id", "name"), after, strict=True))
    rows = await fetch_named(tx, _SQL["lock_without_key"], place | {"limit": limit}, prepare=False)
    if rows:
        read = [(row, info) for row in rows if (info := read_info(row)) is not None]
        parameters = {
            "namespaces": [row.namespace for row, _ in read],
            "groups": [row.group_id for row, _ in read],
            "names": [row.name for row, _ in read],
            "keys": [similarity_key(info.perceptual_hash) for _, info in read],
        }
        await tx.execute(_SQL["fill_keys"], parameters, prepare=False)
    return [(row.namespace, row.group_id, row.name) for row in rows]
