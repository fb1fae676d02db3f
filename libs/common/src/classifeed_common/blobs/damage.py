"""Search for damaged files, so that their owner can fetch them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from classifeed_common.blobs.piece import BlobCorrupt, BlobMissing
from classifeed_common.blobs.store import BlobStore


@dataclass(frozen=True, slots=True)
class DamagedBlob:
    """A file of this service that is still referenced and cannot be read.

    Attributes:
        sha256: hash of the file.
        fault: missing: the store does not have it; corrupt: it had other bytes and was removed.
    """

    sha256: str
    fault: Literal["missing", "corrupt"]


async def list_damaged(store: BlobStore, hashes: Sequence[str]) -> list[DamagedBlob]:
    """Read files one after the other, and return those that are missing or corrupt.

    A corrupt file is removed: its bytes must not be used, and a put would mistake an object of the same size for the
    file. It is read twice before that, because the transfer may have changed the bytes.

    Raises:
        Unavailable: the object store does not respond.
    """
    found = []
    for sha256 in hashes:
        fault = await _fault_of(store, sha256)
        if fault == "corrupt":
            fault = await _fault_of(store, sha256)
        if fault == "corrupt":
            await store.delete(sha256)
        if fault is not None:
            found.append(DamagedBlob(sha256, fault))
    return found


async def _fault_of(store: BlobStore, sha256: str) -> Literal["missing", "corrupt"] | None:
    try:
        await store.verify(sha256)
    except BlobMissing:
        return "missing"
    except BlobCorrupt:
        return "corrupt"
    return None
