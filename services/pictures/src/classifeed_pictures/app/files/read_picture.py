"""Reads a version of a stored picture, from a cache in memory if possible."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from classifeed_common.blobs import BlobCorrupt, BlobMissing, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import NotFound, Unavailable
from classifeed_pictures.clients.original_spool import OpenOriginal, OriginalSpool
from classifeed_pictures.domain.namespaces import Piece
from classifeed_pictures.store.files.stored import StoredPicture, find_stored

ORIGINAL: Final = "orig"
_FRESH_S: Final = 30.0
_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a picture."""

    namespace: str
    group_id: int
    name: str


class ReadPicture:
    """Reads pictures by their addresses.

    A deleted picture may be served for 30 s more, since addresses are cached that long; bytes are cached by their hash.

    Args:
        database: database with the stored pictures.
        blobs: store of the bytes.
        originals: files of originals that are being sent.
        cache_bytes: maximum size of the cache of versions, in bytes.
    """

    def __init__(self, database: Database, blobs: BlobStore, originals: OriginalSpool, cache_bytes: int) -> None:
        self._database = database
        self._blobs = blobs
        self._originals = originals
        self._cache_bytes = cache_bytes
        self._kept_bytes = 0
        self._content: OrderedDict[str, bytes] = OrderedDict()
        self._pictures: OrderedDict[Address, tuple[float, StoredPicture]] = OrderedDict()

    async def find(self, address: Address) -> StoredPicture:
        """Return the picture at an address.

        Raises:
            NotFound: PICTURE_UNKNOWN.
        """
        now_s = asyncio.get_running_loop().time()
        kept = self._pictures.get(address)
        if kept is not None and now_s < kept[0] + _FRESH_S:
            return kept[1]
        async with self._database.transaction() as tx:
            found = await find_stored(tx, address.namespace, address.group_id, address.name)
        if found is None:
            self._pictures.pop(address, None)
            raise NotFound("PICTURE_UNKNOWN", "There is no picture at this address. It may have been deleted.")
        self._pictures[address] = (now_s, found)
        self._pictures.move_to_end(address)
        while len(self._pictures) > _ROWS:
            self._pictures.popitem(last=False)
        return found

    async def open_original(self, picture: StoredPicture, holding: AsyncExitStack) -> OpenOriginal:
        """Return the original as a file with verified bytes.

        Args:
            picture: the picture.
            holding: exit stack that closes the file.

        Raises:
            Unavailable: PICTURE_DAMAGED, PICTURES_BUSY, or the object store does not respond.
        """
        try:
            return await holding.enter_async_context(self._originals.open(picture.original, picture.info.size_bytes))
        except (BlobMissing, BlobCorrupt) as error:
            raise _damaged(picture) from error

    async def read_version(self, picture: StoredPicture, piece: Piece) -> bytes:
        """Return a smaller version.

        Raises:
            Unavailable: PICTURE_DAMAGED, or the object store does not respond.
        """
        kept = self._content.get(piece.sha256)
        if kept is not None:
            self._content.move_to_end(piece.sha256)
            return kept
        try:
            content = await self._blobs.get_piece(piece.blob, piece.at)
        except (BlobMissing, BlobCorrupt) as error:
            raise _damaged(picture) from error
        if piece.sha256 not in self._content:
            self._content[piece.sha256] = content
            self._kept_bytes += len(content)
        while self._kept_bytes > self._cache_bytes:
            self._kept_bytes -= len(self._content.popitem(last=False)[1])
        return content


def _damaged(picture: StoredPicture) -> Unavailable:
    return Unavailable(
        "PICTURE_DAMAGED",
        f"The files of the picture {picture.reference} cannot be read. It is downloaded again; try later.",
    )
