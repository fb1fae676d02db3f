"""Consumes orders of pictures.copies.v1: copies pictures to other namespaces and deletes them, in order per URL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.db import Tx, after_commit
from classifeed_common.kafka import Message, Record, decode_all
from classifeed_common.outbox import Outbox
from classifeed_jobs import JobStore
from classifeed_pictures.app.events.report_load import load_message
from classifeed_pictures.app.files.copy_picture import copy_picture, delete_picture
from classifeed_pictures.consumers.decode_orders import decode_copy
from classifeed_pictures.jobs.resize import enqueue_resize
from classifeed_pictures.metrics import COPIES
from classifeed_pictures.store.states.states import get_now

GROUP: Final = "pictures-copies"


class CopyHandler:
    """Handles batches of orders, for an OrderedConsumer.

    Args:
        outbox: outbox for the results.
        jobs: job store for copies that lack sizes.
    """

    def __init__(self, outbox: Outbox, jobs: JobStore) -> None:
        self._outbox = outbox
        self._jobs = jobs

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Carry out a batch of orders.

        Raises:
            Poison: a record is no order, or breaks the protocol.
        """
        now = await get_now(tx)
        messages: list[Message] = []
        outcomes: list[str] = []
        for order in decode_all(records, decode_copy):
            if isinstance(order, DeleteOrder):
                outcomes.append("deleted" if await delete_picture(tx, order) else "unchanged")
                continue
            outcome = await self._copy(tx, order)
            outcomes.append("copied" if isinstance(outcome, PictureInfo) else "failed" if outcome else "resized")
            if outcome is not None:
                messages.append(load_message(order, outcome, at=now))
        await self._outbox.put(tx, messages)
        after_commit(tx, partial(_count, outcomes))

    async def _copy(self, tx: Tx, order: CopyOrder) -> PictureInfo | LoadFailure | None:
        outcome = await copy_picture(tx, order)
        if outcome is None:
            await enqueue_resize(self._jobs, tx, order)
        return outcome


def _count(outcomes: Sequence[str]) -> None:
    for outcome in outcomes:
        COPIES.labels(outcome).inc()
