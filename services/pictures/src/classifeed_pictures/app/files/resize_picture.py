"""Makes the missing sizes of a picture for a namespace."""

from __future__ import annotations

import asyncio

from classifeed.pictures.v1.orders_pb2 import CopyOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.blobs import BlobMissing, BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import ResourceExhausted
from classifeed_imaging.decoder import Decoder
from classifeed_imaging.faults import DecodeFailed
from classifeed_imaging.model import SizeSpec
from classifeed_pictures.app.files.copy_picture import copy_of, source_gone, unknown_namespace
from classifeed_pictures.app.files.store_picture import Begin, add_sizes, lay_out, record_stored
from classifeed_pictures.domain.namespaces import Namespace, Piece, missing_versions, pieces_for
from classifeed_pictures.store.files.namespaces import find_namespace
from classifeed_pictures.store.files.stored import StoredPicture, find_stored


class ResizePicture:
    """Copies pictures that lack sizes, after making these from the stored original.

    Args:
        database: database with the tables.
        blobs: store of the bytes.
        decode: decoder that makes the sizes.
    """

    def __init__(self, database: Database, blobs: BlobStore, decode: Decoder) -> None:
        self._database = database
        self._blobs = blobs
        self._decode = decode
        self._refs = BlobRefs()

    async def __call__(self, order: CopyOrder, *, begin: Begin | None = None) -> PictureInfo | LoadFailure:
        """Return the copy or the failure; idempotent.

        Args:
            order: the copy.
            begin: begins the transaction that records the copy; None: one of the database.

        Raises:
            Unavailable: the object store or the database does not respond; retry.
        """
        async with self._database.transaction() as tx:
            namespace = await find_namespace(tx, order.namespace)
            address = order.source
            source = await find_stored(tx, address.namespace, address.group_id, address.name)
        if namespace is None:
            return unknown_namespace(order.namespace)
        if source is None:
            return source_gone()
        try:
            original = await self._blobs.get_bytes(source.original)
            files: dict[str, bytes] = {}
            made = await self._make(original, namespace, source, files)
            return await self._record(order, namespace, source, made, files, begin)
        except BlobMissing:
            return source_gone()
        except DecodeFailed as failed:
            return LoadFailure(code=failed.code, message=failed.message)
        except ResourceExhausted as exhausted:
            return LoadFailure(code=exhausted.reason, message=exhausted.message)

    async def _make(
        self, original: bytes, namespace: Namespace, source: StoredPicture, files: dict[str, bytes]
    ) -> list[Piece]:
        lacking = missing_versions(namespace, source.pieces)
        if not lacking:
            return []
        rules = dict.fromkeys(rule for rule, _ in lacking)
        sizes = [SizeSpec(rule.name, rule.width, rule.height, rule.crop) for rule in rules]
        formats = list(dict.fromkeys(format_ for _, format_ in lacking))
        decoded = await self._decode.decode(original, sizes, formats)
        wanted = {(rule.name, format_) for rule, format_ in lacking}
        versions = [version for version in decoded.versions if (version.size, version.format) in wanted]
        return await asyncio.to_thread(lay_out, versions, namespace, files)

    async def _record(
        self,
        order: CopyOrder,
        namespace: Namespace,
        source: StoredPicture,
        made: list[Piece],
        files: dict[str, bytes],
        begin: Begin | None,
    ) -> PictureInfo | LoadFailure:
        copy = copy_of(source, namespace.name, order)
        pieces = pieces_for(namespace, [*source.pieces, *made])
        add_sizes(copy, pieces)
        picture = StoredPicture(copy, order.url_hash, order.attempt, source.original, tuple(pieces))
        async with (begin or self._database.transaction)() as tx:
            # Checked again under a lock: if the source was deleted meanwhile, its files may be removed.
            address = source.info
            if await find_stored(tx, address.namespace, address.group_id, address.name, is_locked=True) is None:
                return source_gone()
            new = await record_stored(tx, self._refs, picture, namespace)
        for sha256, content in files.items():
            await self._blobs.put_bytes(content, sha256, is_new=sha256 in new)
        return copy
