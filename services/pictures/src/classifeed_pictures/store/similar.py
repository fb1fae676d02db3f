"""Stored pictures that look like another one: found by pieces of their keys, and keys of rows that have none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.similarity import pieces_near, similarity_key
from classifeed_pictures.store.damaged_rows import read_info

Address: TypeAlias = tuple[str, int, str]
"""Namespace, group and name of a stored picture."""
SQL: Final = load_queries("classifeed_pictures.store", "similar.sql")
_PIECES: Final = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a picture stands in a list: by distance, then by its address."""

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
        place: In the list.
        url: That it came from; empty when its state is not known any more.
        info: What is known of it; nothing where its row is damaged.
        is_damaged: Whether its row is damaged.
    """

    place: Place
    url: str
    info: PictureInfo
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is sought.

    Attributes:
        key: Of the picture that others are compared with; not that of a plain one.
        url_hash: Of its URL, whose own pictures are left out.
        distance: Bits in which keys differ at most.
        namespace: That keeps what is found; empty: any.
        among: Hashes of the URLs whose pictures are compared; None: all pictures.
    """

    key: int
    url_hash: bytes
    distance: int
    namespace: str = ""
    among: Collection[bytes] | None = None


async def list_similar(tx: Tx, sought: Likeness, *, after: Place = BEGIN, limit: int) -> list[SimilarRow]:
    """Return the next pictures after a place, the most similar first. The transaction looks up by keys from then on."""
    await tx.execute(SQL["forbid_scans"])
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
        statement = SQL["list_similar_of_urls"]
        parameters |= {"url_hashes": list(sought.among), "distance": sought.distance}
    else:
        statement = SQL["list_similar"]
        parameters["keys"] = await _list_keys(tx, sought)
    rows = await fetch_named(tx, statement, parameters, prepare=False)
    return [_similar_of(row) for row in rows]


def _similar_of(row: Any) -> SimilarRow:
    info = read_info(row)
    place = Place(row.distance, row.namespace, row.group_id, row.name)
    return SimilarRow(place, row.url, info or PictureInfo(), is_damaged=info is None)


async def _list_keys(tx: Tx, sought: Likeness) -> list[int]:
    cursor = await tx.execute(SQL["list_keys"], key_parameters(sought.key, sought.distance), prepare=False)
    return [int(row[0]) for row in await cursor.fetchall()]


def key_parameters(key: int, distance: int) -> dict[str, Any]:
    """Return the parameters of the statement `list_keys`."""
    return {
        "key": key,
        "distance": distance,
        **dict(zip(_PIECES, pieces_near(key, distance), strict=True)),
    }


async def fill_keys(tx: Tx, after: Address, limit: int) -> list[Address]:
    """Give keys to the next rows without one after an address, and return their addresses in order."""
    place = dict(zip(("namespace", "group_id", "name"), after, strict=True))
    rows = await fetch_named(tx, SQL["lock_without_key"], place | {"limit": limit}, prepare=False)
    if rows:
        read = [(row, info) for row in rows if (info := read_info(row)) is not None]
        parameters = {
            "namespaces": [row.namespace for row, _ in read],
            "groups": [row.group_id for row, _ in read],
            "names": [row.name for row, _ in read],
            "keys": [similarity_key(info.perceptual_hash) for _, info in read],
        }
        await tx.execute(SQL["fill_keys"], parameters, prepare=False)
    return [(row.namespace, row.group_id, row.name) for row in rows]
