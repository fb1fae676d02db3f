"""Stores a picture in a namespace: references first, then files, so that no clean-up removes the files in between."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TypeAlias

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.clock import Clock
from classifeed_common.db import Database, Tx
from classifeed_common.errors import ResourceExhausted
from classifeed_imaging.model import Decoded, Version
from classifeed_pictures.domain.lifecycle.retries import QUOTA_EXCEEDED
from classifeed_pictures.domain.lifecycle.states import name_picture
from classifeed_pictures.domain.namespaces import Namespace, Piece
from classifeed_pictures.store.files.namespaces import add_usage, get_used_bytes
from classifeed_pictures.store.files.stored import (
    StoredPicture,
    delete_aliases,
    delete_stored,
    find_stored,
    has_picture,
    put_stored,
    reference_of,
)

Begin: TypeAlias = Callable[[], AbstractAsyncContextManager[Tx]]
"""Begins a transaction. A job's guarded transaction fails if another run has claimed the job: a picture that a paused
process recorded later would never be reported or deleted."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a picture.

    Attributes:
        url_hash: hash of its URL or key.
        etag: ETag that its host sent.
        last_modified: Last-Modified that its host sent.
        sha256: 32 bytes of the hash over the file as its host sent it; empty if the picture was put.
    """

    url_hash: bytes
    etag: str = ""
    last_modified: str = ""
    sha256: bytes = b""


class StorePicture:
    """Stores decoded pictures.

    Args:
        database: database with the tables.
        blobs: store of the bytes.
        clock: clock for the time of storage.
    """

    def __init__(self, database: Database, blobs: BlobStore, clock: Clock) -> None:
        self._database = database
        self._blobs = blobs
        self._clock = clock
        self._refs = BlobRefs()

    async def __call__(
        self, source: Source, namespace: Namespace, decoded: Decoded, *, attempt: int, begin: Begin | None = None
    ) -> PictureInfo:
        """Store a picture and return its info; idempotent.

        Args:
            source: source of the picture.
            namespace: namespace that keeps it.
            decoded: the decoded picture.
            attempt: number of the order.
            begin: begins the transaction that records it; None: one of the database.

        Raises:
            ResourceExhausted: PICTURE_QUOTA_EXCEEDED.
            Unavailable: the object store does not respond; retry.
        """
        files: dict[str, bytes] = {}
        # In a thread, since the hash of 20 MB takes 0.1 s.
        original = await asyncio.to_thread(_add, files, decoded.original)
        pieces = await asyncio.to_thread(lay_out, decoded.versions, namespace, files)
        info = self._info(source, namespace, decoded, pieces, content_hash=bytes.fromhex(original))
        picture = StoredPicture(info, source.url_hash, attempt, original, tuple(pieces))
        async with (begin or self._database.transaction)() as tx:
            new = await record_stored(tx, self._refs, picture, namespace)
        for sha256, content in files.items():
            await self._blobs.put_bytes(content, sha256, is_new=sha256 in new)
        return info

    def _info(
        self, source: Source, namespace: Namespace, decoded: Decoded, pieces: Sequence[Piece], *, content_hash: bytes
    ) -> PictureInfo:
        group_id, name = name_picture(source.url_hash, content_hash)
        info = PictureInfo(
            namespace=namespace.name,
            group_id=group_id,
            name=name,
            width=decoded.width,
            height=decoded.height,
            format=decoded.format,
            size_bytes=len(decoded.original),
            content_hash=content_hash,
            perceptual_hash=decoded.perceptual_hash,
            dominant_color=decoded.dominant_color,
            blurhash=decoded.blurhash,
            frames=decoded.frames,
            source_etag=source.etag,
            source_last_modified=source.last_modified,
            source_hash=source.sha256,
        )
        info.store_time.FromDatetime(self._clock.now())
        add_sizes(info, pieces)
        return info


async def record_stored(tx: Tx, refs: BlobRefs, picture: StoredPicture, namespace: Namespace) -> frozenset[str]:
    """Record a picture with the references to its files, and count it; a stored one keeps its versions.

    Returns the hashes of files that had no reference before.

    Raises:
        ResourceExhausted: PICTURE_QUOTA_EXCEEDED.
    """
    info = picture.info
    known = await find_stored(tx, info.namespace, info.group_id, info.name, is_locked=True)
    is_counted = known is not None and not known.is_alias
    added_bytes = picture.total_bytes - (known.total_bytes if known is not None and is_counted else 0)
    if namespace.quota_bytes and added_bytes > 0:
        used_bytes = await get_used_bytes(tx, namespace.name)
        if used_bytes + added_bytes > namespace.quota_bytes:
            raise ResourceExhausted(
                QUOTA_EXCEEDED,
                f"The namespace {namespace.name} has {used_bytes} of {namespace.quota_bytes} bytes in use, and the "
                f"picture takes {added_bytes} more. Delete pictures, or raise its quota.",
            )
    new = await refs.add_many(tx, [(sha256, picture.reference) for sha256 in picture.blobs])
    await put_stored(tx, picture if known is None else replace(picture, attempt=max(picture.attempt, known.attempt)))
    await add_usage(tx, info.namespace, info.group_id, pictures=0 if is_counted else 1, size_bytes=added_bytes)
    return new


async def remove_stored(tx: Tx, url_hash: bytes, place: tuple[str, int, str], attempt: int) -> list[str]:
    """Remove a picture unless a later attempt has stored it; remove the aliases of its key with its last picture there.

    Returns:
        The references that the caller has to drop; empty if the picture was not there.
    """
    namespace, group_id, name = place
    size_bytes = await delete_stored(tx, namespace, group_id, name, attempt=attempt)
    if size_bytes is None:
        return []
    await add_usage(tx, namespace, group_id, pictures=-1, size_bytes=-size_bytes)
    gone = [(group_id, name)]
    if not await has_picture(tx, url_hash, namespace):
        gone += await delete_aliases(tx, url_hash, namespace)
    return [reference_of(namespace, *address) for address in gone]


def lay_out(versions: Sequence[Version], namespace: Namespace, files: dict[str, bytes]) -> list[Piece]:
    """Join all versions into one file, add it to `files` by its hash, and return the place of each version."""
    if not versions:
        return []
    rules = {rule.name: rule for rule in namespace.sizes}
    blob = _add(files, b"".join(version.data for version in versions))
    pieces, offset = [], 0
    for version in versions:
        pieces.append(
            Piece(
                rules[version.size],
                version.format,
                version.width,
                version.height,
                blob,
                offset,
                len(version.data),
                hashlib.sha256(version.data).hexdigest(),
            )
        )
        offset += len(version.data)
    return pieces


def add_sizes(info: PictureInfo, pieces: Sequence[Piece]) -> None:
    """Add the sizes of a picture, smallest first."""
    formats: dict[str, list[str]] = {}
    first: Mapping[str, Piece] = {piece.rule.name: piece for piece in reversed(pieces)}
    for piece in pieces:
        formats.setdefault(piece.rule.name, []).append(piece.format)
    for name, piece in sorted(first.items(), key=lambda item: (item[1].width * item[1].height, item[0])):
        info.sizes.add(name=name, width=piece.width, height=piece.height, formats=formats[name])


def _add(files: dict[str, bytes], content: bytes) -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    files[sha256] = content
    return sha256
