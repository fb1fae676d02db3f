"""Stored pictures: their addresses and files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Final

from psycopg.types.json import Jsonb

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.namespaces import Piece, SizeRule
from classifeed_pictures.domain.similarity import similarity_key
from classifeed_pictures.store.states.damaged_rows import read_info

_SQL: Final = load_queries(__package__, "stored.sql")


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """A stored picture.

    Attributes:
        info: info of the picture.
        url_hash: hash of its URL.
        attempt: attempt that stored it last.
        original: hash of the file with its original, in hexadecimal.
        pieces: smaller versions.
        is_alias: whether the address belongs to an older key, and leads to the picture of the URL's present key.
    """

    info: PictureInfo
    url_hash: bytes
    attempt: int
    original: str
    pieces: tuple[Piece, ...]
    is_alias: bool = False

    @property
    def reference(self) -> str:
        """Return the name by which it refers to its files."""
        return reference_of(self.info.namespace, self.info.group_id, self.info.name)

    @property
    def blobs(self) -> set[str]:
        """Return the hashes of all its files, in hexadecimal."""
        return {self.original, *(piece.blob for piece in self.pieces)}

    @property
    def total_bytes(self) -> int:
        """Return its size as the quota counts it: shared files count for each picture."""
        return self.info.size_bytes + sum(piece.size_bytes for piece in self.pieces)


def reference_of(namespace: str, group_id: int, name: str) -> str:
    """Return the name by which a stored picture refers to its files."""
    return f"{namespace}/{group_id}/{name}"


async def find_stored(
    tx: Tx, namespace: str, group_id: int, name: str, *, is_locked: bool = False
) -> StoredPicture | None:
    """Return a stored picture; None if there is none or its row is damaged.

    With `is_locked`, it is locked until the transaction ends.
    """
    statement = _SQL["lock_stored" if is_locked else "find_stored"]
    rows = await fetch_named(tx, statement, {"namespace": namespace, "group_id": group_id, "name": name})
    info = read_info(rows[0]) if rows else None
    return _stored_of(rows[0], info) if info is not None else None


async def put_stored(tx: Tx, picture: StoredPicture) -> None:
    """Store a picture; idempotent. The caller adds its references."""
    parameters = {
        "namespace": picture.info.namespace,
        "group_id": picture.info.group_id,
        "name": picture.info.name,
        "url_hash": picture.url_hash,
        "attempt": picture.attempt,
        "content_hash": bytes.fromhex(picture.original),
        "size_bytes": picture.info.size_bytes,
        "total_bytes": picture.total_bytes,
        "info": picture.info.SerializeToString(),
        "pieces": Jsonb(_rows(picture.pieces)),
        "similarity_key": similarity_key(picture.info.perceptual_hash),
    }
    await tx.execute(_SQL["put_stored"], parameters)


async def delete_stored(tx: Tx, namespace: str, group_id: int, name: str, *, attempt: int) -> int | None:
    """Delete a picture unless a later attempt has stored it; return its size in bytes, or None. Idempotent."""
    parameters = {"namespace": namespace, "group_id": group_id, "name": name, "attempt": attempt}
    row = await (await tx.execute(_SQL["delete_stored"], parameters)).fetchone()
    return int(row[0]) if row is not None else None


async def has_picture(tx: Tx, url_hash: bytes, namespace: str) -> bool:
    """Return whether a key keeps a picture in a namespace; locks it until the transaction ends."""
    parameters = {"url_hash": url_hash, "namespace": namespace}
    return await (await tx.execute(_SQL["lock_kept"], parameters)).fetchone() is not None


async def move_stored(tx: Tx, namespace: str, group_id: int, name: str, *, attempt: int, moved_to: bytes) -> int | None:
    """Make an address an alias of another key's picture, unless a later attempt has stored it.

    Returns:
        The size of the picture in bytes, or None. Idempotent.
    """
    parameters = {
        "namespace": namespace,
        "group_id": group_id,
        "name": name,
        "attempt": attempt,
        "moved_to": moved_to,
    }
    row = await (await tx.execute(_SQL["move_stored"], parameters)).fetchone()
    return int(row[0]) if row is not None else None


async def move_aliases(tx: Tx, url_hash: bytes, namespace: str, *, moved_to: bytes) -> None:
    """Move the aliases of a key to another key; idempotent."""
    await tx.execute(_SQL["move_aliases"], {"url_hash": url_hash, "namespace": namespace, "moved_to": moved_to})


async def delete_aliases(tx: Tx, url_hash: bytes, namespace: str) -> list[tuple[int, str]]:
    """Delete the aliases of a key; return group ids and names."""
    cursor = await tx.execute(_SQL["delete_aliases"], {"url_hash": url_hash, "namespace": namespace})
    return [(group_id, name) for group_id, name in await cursor.fetchall()]


def _rows(pieces: Collection[Piece]) -> list[dict[str, Any]]:
    return [asdict(piece) for piece in pieces]


def _stored_of(row: Any, info: PictureInfo) -> StoredPicture:
    return StoredPicture(
        info=info,
        url_hash=bytes(row.url_hash),
        attempt=row.attempt,
        original=bytes(row.content_hash).hex(),
        pieces=tuple(Piece(**{**piece, "rule": SizeRule(**piece["rule"])}) for piece in row.pieces),
        is_alias=row.is_alias,
    )
