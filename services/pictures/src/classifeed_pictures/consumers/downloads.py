"""Consumes orders of pictures.downloads.v1: each becomes a job, so that no partition waits for a host."""

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
    """Handles batches of orders, for an OrderedConsumer.

    Args:
        jobs: job store for the downloads.
        downloads_per_host: maximum number of downloads from one host, over all processes.
    """

    def __init__(self, jobs: JobStore, downloads_per_host: int) -> None:
        self._jobs = jobs
        self._downloads_per_host = downloads_per_host

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Enqueue a batch of downloads; a repeated order makes no second job.

        Raises:
            Poison: a record is no order, or breaks the protocol.
        """
        orders = decode_all(records, decode_download)
        await enqueue_downloads(self._jobs, tx, orders, downloads_per_host=self._downloads_per_host)
