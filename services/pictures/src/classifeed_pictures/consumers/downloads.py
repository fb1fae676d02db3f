"""Orders of pictures.downloads.v1: each becomes a job, so that no partition waits for a host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_common.db import Tx
from classifeed_common.kafka import Record, decode_all
from classifeed_jobs import JobStore
from classifeed_pictures.consumers.decode_orders import decode_download
from classifeed_pictures.jobs.download import enqueue_downloads

GROUP: Final = "pictures-downloads"


class DownloadHandler:
    """Handles polls of orders, for an OrderedConsumer over the positions of a table.

    Args:
        jobs: take the downloads.
    """

    def __init__(self, jobs: JobStore) -> None:
        self._jobs = jobs

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Enqueue the downloads of a poll; an order that comes again makes no second job.

        Raises:
            Poison: a record has no order, or breaks the protocol.
        """
        await enqueue_downloads(self._jobs, tx, decode_all(records, decode_download))
