"""Limits the uploads that are open at once, per process and per seller."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from classifeed_common.errors import ResourceExhausted

_RETRY_AFTER_S: Final = 5.0
# Longer than a short stall of a mobile network, so that a live upload keeps its slot.
_SPARED_S: Final = 5.0


class OpenUpload:
    """One open upload: since when it is idle, and whether another upload has taken its slot."""

    def __init__(self) -> None:
        self.is_displaced = False
        self._idle_since = 0.0
        self._limit: asyncio.Timeout | None = None

    @contextmanager
    def wait(self, limit: asyncio.Timeout, *, idle_since: float) -> Iterator[None]:
        """Let `displace` end a wait. Outside of waits the upload is working and cannot be displaced.

        Args:
            limit: timeout of the wait.
            idle_since: when the upload last counted as alive, in seconds of the event loop's clock.
        """
        self._limit, self._idle_since = limit, idle_since
        try:
            yield
        finally:
            self._limit = None

    def idle_s(self, now: float) -> float:
        """Return for how long the upload has been idle, in seconds; 0 while it is working."""
        return 0.0 if self._limit is None else now - self._idle_since

    def displace(self, now: float) -> None:
        """Time out the current wait at once."""
        if self._limit is not None and not self._limit.expired():
            self.is_displaced = True
            self._limit.reschedule(now)


class UploadSlots:
    """Counts the open uploads of this process.

    Args:
        total: maximum number of open uploads.
        per_seller: maximum number of open uploads of one seller.
        spared_s: seconds after which an idle upload may lose its slot. If all slots are taken, a new upload displaces
            the idlest one, so that idle uploads cannot keep out others.
    """

    def __init__(self, total: int, per_seller: int, *, spared_s: float = _SPARED_S) -> None:
        self._total = total
        self._per_seller = per_seller
        self._spared_s = spared_s
        self._open: set[OpenUpload] = set()
        self._of_seller: Counter[str] = Counter()

    @contextmanager
    def hold(self) -> Iterator[OpenUpload]:
        """Hold one of the slots that all sellers share.

        Raises:
            ResourceExhausted: all slots are taken by uploads that were active lately.
        """
        if len(self._open) >= self._total and not self._displace_idlest():
            raise ResourceExhausted(
                "UPLOADS_FULL",
                f"{len(self._open)} uploads are open in this process, its limit. Nothing was stored; send the file "
                f"again in {_RETRY_AFTER_S:.0f} s.",
                retry_after_s=_RETRY_AFTER_S,
            )
        upload = OpenUpload()
        self._open.add(upload)
        try:
            yield upload
        finally:
            self._open.discard(upload)

    def _displace_idlest(self) -> bool:
        now = asyncio.get_running_loop().time()
        idlest = max(self._open, key=lambda upload: upload.idle_s(now))
        if idlest.idle_s(now) <= self._spared_s:
            return False
        idlest.displace(now)
        self._open.discard(idlest)
        return True

    @contextmanager
    def hold_for(self, seller_id: str) -> Iterator[None]:
        """Hold a slot of a seller.

        Raises:
            ResourceExhausted: the seller has the maximum number of uploads open.
        """
        if self._of_seller[seller_id] >= self._per_seller:
            raise ResourceExhausted(
                "SELLER_UPLOADS_FULL",
                f"Seller {seller_id} has {self._per_seller} uploads open, which is the limit of a seller. Nothing was "
                "stored; wait until one of them completes and send the file again.",
                metadata={"seller_id": seller_id},
                retry_after_s=_RETRY_AFTER_S,
            )
        self._of_seller[seller_id] += 1
        try:
            yield
        finally:
            self._of_seller[seller_id] -= 1
            if not self._of_seller[seller_id]:
                del self._of_seller[seller_id]
