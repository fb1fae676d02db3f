"""The dependencies of a fetch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from classifeed.feeds.v1.task_pb2 import Task
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.fetch import Fetched, FetchRequest, NotModified
from classifeed_loader.app.limit_hosts import HostSlots
from classifeed_loader.domain.fetches import FetchKey, StoredFile
from classifeed_loader.domain.sources import Source


class Downloader(Protocol):
    """Downloads from outer addresses, as a fetch needs it."""

    async def fetch(self, request: FetchRequest, to: Path) -> Fetched | NotModified:
        """Download a file to `to`, or learn that the caller has it.

        Raises:
            FetchFailed: there is no such file.
            HostPaused: the host is to get the request later.
        """
        ...


class TaskMaker(Protocol):
    """The processor, as a fetch needs it."""

    async def create_task(self, key: FetchKey, source: Source, file: StoredFile, *, forced: bool) -> Task:
        """Return the task of the file; idempotent by fetch.

        Raises:
            LoadFailed: the file is refused for good.
        """
        ...


@dataclass(frozen=True, slots=True)
class FetchDependencies:
    """The dependencies of a fetch.

    Attributes:
        downloader: brings the files.
        blobs: where they are put.
        refs: who needs them.
        tasks: has them loaded.
        hosts: who downloads from where in this process.
        cipher: decrypts credentials; None: there are no keys.
        spool_dir: folder for files on their way; each fetch removes its own.
        min_interval_s: shortest time between two scheduled fetches of a source.
        backoff_base_s: the wait of a source after n failures is this times 2^n, in bounds.
        history_fetches: ended fetches that are kept of each source.
    """

    downloader: Downloader
    blobs: BlobStore
    refs: BlobRefs
    tasks: TaskMaker
    hosts: HostSlots
    cipher: CredentialCipher | None
    spool_dir: Path
    min_interval_s: float
    backoff_base_s: float
    history_fetches: int
