"""The dependencies of a fetch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from classifeed.feeds.v1.task_pb2 import Task
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.fetch import Fetched, FetchRequest, NotModified
from classifeed_loader.domain.fetches import FetchKey, StoredFile
from classifeed_loader.domain.sources import Source


class Downloader(Protocol):
    """Downloads files from untrusted URLs."""

    async def fetch(self, request: FetchRequest, to: Path) -> Fetched | NotModified:
        """Download a file to `to`, unless the site reports that it is unchanged.

        Raises:
            FetchFailed: the file cannot be downloaded.
            HostPaused: the host accepts the request only later.
        """
        ...


class TaskMaker(Protocol):
    """The processor, as a fetch needs it."""

    async def create_task(self, key: FetchKey, source: Source, file: StoredFile, *, forced: bool) -> Task:
        """Return the task of the file; idempotent by fetch.

        Raises:
            LoadFailed: the file is refused permanently.
        """
        ...


@dataclass(frozen=True, slots=True)
class FetchDependencies:
    """The dependencies of a fetch.

    Attributes:
        downloader: client that downloads the files.
        blobs: object store for the files.
        refs: references that keep files in the object store.
        tasks: client that creates tasks at the processor.
        cipher: cipher that decrypts credentials; None: there are no keys.
        spool_dir: folder for files that are being downloaded; each fetch removes its own.
        min_interval_s: shortest time between two scheduled fetches of a source, in seconds.
        backoff_base_s: seconds that, times 2^n, a source waits after n failures, within bounds.
        history_fetches: number of completed fetches kept per source.
    """

    downloader: Downloader
    blobs: BlobStore
    refs: BlobRefs
    tasks: TaskMaker
    cipher: CredentialCipher | None
    spool_dir: Path
    min_interval_s: float
    backoff_base_s: float
    history_fetches: int
