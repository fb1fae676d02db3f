"""Copies a picture to another namespace by adding references, and deletes one by dropping them; no bytes move."""

from __future__ import annotations

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.blobs import BlobRefs
from classifeed_common.db import Tx
from classifeed_common.errors import ResourceExhausted
from classifeed_pictures.app.files.store_picture import add_sizes, record_stored, remove_stored
from classifeed_pictures.domain.lifecycle.retries import NAMESPACE_UNKNOWN, QUOTA_EXCEEDED, SOURCE_GONE
from classifeed_pictures.domain.lifecycle.states import name_picture
from classifeed_pictures.domain.namespaces import missing_versions, pieces_for
from classifeed_pictures.store.files.namespaces import add_usage, find_namespace
from classifeed_pictures.store.files.stored import (
    StoredPicture,
    find_stored,
    has_picture,
    move_aliases,
    move_stored,
)

_REFS = BlobRefs()


async def copy_picture(tx: Tx, order: CopyOrder) -> PictureInfo | LoadFailure | None:
    """Store a picture in another namespace, too; idempotent.

    Returns:
        The copy, or the failure; None if sizes of the namespace must be made of the picture first.
    """
    namespace = await find_namespace(tx, order.namespace)
    if namespace is None:
        return unknown_namespace(order.namespace)
    address = order.source
    source = await find_stored(tx, address.namespace, address.group_id, address.name, is_locked=True)
    if source is None:
        return source_gone()
    if missing_versions(namespace, source.pieces):
        return None
    copy = copy_of(source, namespace.name, order)
    pieces = pieces_for(namespace, source.pieces)
    add_sizes(copy, pieces)
    picture = StoredPicture(copy, order.url_hash, order.attempt, source.original, tuple(pieces))
    try:
        await record_stored(tx, _REFS, picture, namespace)
    except ResourceExhausted as error:
        return LoadFailure(code=QUOTA_EXCEEDED, message=error.message)
    return copy


async def delete_picture(tx: Tx, order: DeleteOrder) -> bool:
    """Delete a stored picture unless a later attempt has stored it again; return whether it was there. Idempotent.

    The address of a moved picture stays as an alias of the picture of the other key in the namespace. Aliases of a key
    are deleted with its last picture in the namespace.
    """
    place = (order.namespace, order.group_id, order.name)
    if not (order.moved_to and await has_picture(tx, order.moved_to, order.namespace)):
        references = await remove_stored(tx, order.url_hash, place, order.attempt)
        await _REFS.drop(tx, *references)
        return bool(references)
    size_bytes = await move_stored(tx, *place, attempt=order.attempt, moved_to=order.moved_to)
    if size_bytes is None:
        return False
    await add_usage(tx, order.namespace, order.group_id, pictures=-1, size_bytes=-size_bytes)
    if not await has_picture(tx, order.url_hash, order.namespace):
        await move_aliases(tx, order.url_hash, order.namespace, moved_to=order.moved_to)
    return True


def copy_of(source: StoredPicture, namespace: str, order: CopyOrder) -> PictureInfo:
    """Return the info of a copy, without its sizes."""
    copy = PictureInfo()
    copy.CopyFrom(source.info)
    copy.namespace = namespace
    copy.group_id, copy.name = name_picture(order.url_hash, source.info.content_hash)
    del copy.sizes[:]
    return copy


def source_gone() -> LoadFailure:
    """Return the failure of a copy whose source is no longer stored."""
    return LoadFailure(code=SOURCE_GONE, message="The picture was deleted before it could be copied.")


def unknown_namespace(name: str) -> LoadFailure:
    """Return the failure of an order for a namespace that does not exist."""
    return LoadFailure(
        code=NAMESPACE_UNKNOWN,
        message=f"There is no namespace {name!r} of pictures. Create it with `classifeed picture namespace {name}`.",
    )
