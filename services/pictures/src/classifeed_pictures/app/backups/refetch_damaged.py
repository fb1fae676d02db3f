"""Has pictures downloaded again whose files are missing or corrupt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog

from classifeed.pictures.v1.events_pb2 import LookAgain
from classifeed_common.blobs import DamagedBlob
from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_pictures.app.events.compose_messages import look_messages
from classifeed_pictures.store.backups.damaged import list_users
from classifeed_pictures.store.states.states import get_now

_log = structlog.get_logger(__name__)


async def refetch_damaged(tx: Tx, damaged: Sequence[DamagedBlob], *, outbox: Outbox) -> None:
    """Send notices of the pictures that need these files; the same bytes of the same URL get the same address again.

    A picture that was put by hand cannot be downloaded: it is logged, and must be put again.
    """
    users = await list_users(tx, [blob.sha256 for blob in damaged])
    await fetch_again(tx, users, outbox=outbox)


async def fetch_again(tx: Tx, pictures: Sequence[tuple[Any, ...]], *, outbox: Outbox) -> None:
    """Send notices, from pairs of URL and `is_put`, that have held pictures downloaded again."""
    for url, is_put in pictures:
        if is_put:
            _log.error("pictures.picture.lost", url=url[:200], fix="put it again")
    looks = {url: LookAgain(force=True, refresh=True) for url, is_put in pictures if not is_put}
    await outbox.put(tx, look_messages(looks, await get_now(tx)))
