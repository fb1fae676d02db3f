"""Append elements that cannot be delivered to the queue `failed`, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from classifeed_common.db import Database
from classifeed_receiver.store import queues
from classifeed_receiver.store.queues import Failure

_log = structlog.get_logger(__name__)


async def append_failed(database: Database, client: str, failures: Sequence[Failure]) -> None:
    """Store the failures and append the elements to the queue `failed`. Idempotent by position.

    An element that is trimmed or has another key is left out: the reader that reports it is out of date.
    """
    async with database.transaction() as tx:
        count = await queues.append_failed(tx, client, failures)
    _log.warning("receiver.elements.failed", client=client, reported=len(failures), new=count)
