"""Stores a picture that a client uploads, under the client's key."""

from __future__ import annotations

from typing import Final

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.db import Database
from classifeed_common.errors import Aborted, InvalidArgument, NotFound, ResourceExhausted
from classifeed_common.outbox import Outbox
from classifeed_imaging.decoder import Decoder
from classifeed_imaging.faults import DecodeFailed
from classifeed_imaging.processes.pool import PoolFull
from classifeed_pictures.app.events.process_events import PictureEvents, process_events
from classifeed_pictures.app.files.copy_picture import unknown_namespace
from classifeed_pictures.app.files.specify_sizes import specify_sizes
from classifeed_pictures.app.files.store_picture import Source, StorePicture
from classifeed_pictures.app.states.find_states import Rules
from classifeed_pictures.domain.lifecycle.events import Put
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.retries import NAMESPACE_UNKNOWN
from classifeed_pictures.domain.urls.canonical import canonical_url, url_hash
from classifeed_pictures.store.files.namespaces import find_namespace
from classifeed_pictures.store.files.stored import find_stored
from classifeed_pictures.store.states.states import StateChanged, get_now

MAX_BYTES: Final = 20 << 20
"""Maximum size of an uploaded picture, in bytes."""
_TRIES: Final = 5
_BUSY_S: Final = 1.0


class PutPicture:
    """Stores uploaded pictures.

    Args:
        database: database with the tables.
        outbox: outbox for copies and for results of requests that waited for the key.
        decode: decoder of pictures.
        store: use case that stores a decoded picture.
        canonical_rules: returns the rules of canonical URLs.
        rules: rules of the lifecycle.
    """

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        decode: Decoder,
        store: StorePicture,
        *,
        canonical_rules: Rules,
        rules: LifecycleRules,
    ) -> None:
        self._database = database
        self._outbox = outbox
        self._decode = decode
        self._store = store
        self._canonical_rules = canonical_rules
        self._rules = rules

    async def __call__(self, key: str, namespace_name: str, data: bytes) -> PictureInfo:
        """Store a picture and return its info; the same bytes under the same key change nothing.

        Raises:
            NotFound: PICTURE_NAMESPACE_UNKNOWN.
            InvalidArgument: it is no picture, or of a kind that is not accepted; the reason is the code.
            ResourceExhausted: PICTURE_QUOTA_EXCEEDED; or PICTURES_BUSY, too many pictures wait to be decoded.
            Aborted: PICTURE_CHANGED, its state was changed concurrently in every attempt.
            Unavailable: the database or the object store does not respond.
        """
        async with self._database.transaction() as tx:
            namespace = await find_namespace(tx, namespace_name)
            began_at = await get_now(tx)
        if namespace is None:
            raise NotFound(NAMESPACE_UNKNOWN, unknown_namespace(namespace_name).message)
        try:
            decoded = await self._decode.decode(data, specify_sizes(namespace), namespace.formats)
        except PoolFull as full:
            raise ResourceExhausted("PICTURES_BUSY", f"{full} Send the picture again.", retry_after_s=_BUSY_S) from full
        except DecodeFailed as failed:
            raise InvalidArgument(failed.code, failed.message) from failed
        url = canonical_url(key, self._canonical_rules())
        source = Source(url_hash(url))
        info = await self._store(source, namespace, decoded, attempt=int(began_at.timestamp() * 1_000_000))
        event = PictureEvents(url, source.url_hash, [Put(info, began_at)])
        for _ in range(_TRIES):
            try:
                async with self._database.transaction() as tx:
                    await process_events(tx, [event], outbox=self._outbox, rules=self._rules)
                    if await find_stored(tx, info.namespace, info.group_id, info.name) is None:
                        raise Aborted("PICTURE_CHANGED", f"The state was restored before {url[:200]!r}. Send it again.")
            except StateChanged:
                continue
            self._outbox.wake()
            return info
        raise Aborted(
            "PICTURE_CHANGED", f"The picture {url[:200]!r} was changed by other requests meanwhile. Send it again."
        )


def too_large() -> InvalidArgument:
    """Return the error for a picture larger than `MAX_BYTES`."""
    return InvalidArgument("TOO_LARGE", f"The picture is larger than {MAX_BYTES >> 20} MiB. Make it smaller.")
