"""Damaged files: found by reading, so that their owner can get them anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from classifeed_common.blobs.piece import BlobCorrupt, BlobMissing
from classifeed_common.blobs.store import BlobStore


@dataclass(frozen=True, slots=True)
class DamagedBlob:
    """An own file that somebody needs and that cannot be read.

    Attributes:
        sha256: its hash.
        fault: missing: the store does not have it; corrupt: it had other bytes, and was removed.
    """

    sha256: str
    fault: Literal["missing", "corrupt"]


async def find_damaged(store: BlobStore, hashes: Sequence[str]) -> list[DamagedBlob]:
    """Read files one after the other, and return those that are missing or corrupt.

    A corrupt one is removed: nothing of it must be used, and a put would take one of the same size for the file itself.
    It is read twice before that, as the bytes may have changed on the way.

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
