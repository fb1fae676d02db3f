"""How many uploads may be open at once: in this process, and of one seller."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from classifeed_common.errors import ResourceExhausted

_RETRY_AFTER_S: Final = 5.0


class OpenUpload:
    """One open upload: since when too little has come, and whether it has to end for the sake of another one."""

    def __init__(self) -> None:
        self.is_displaced = False
        self._idle_since = 0.0
        self._limit: asyncio.Timeout | None = None

    @contextmanager
    def wait(self, limit: asyncio.Timeout, *, idle_since: float) -> Iterator[None]:
        """Let `displace` end a wait; outside of waits the upload is at work and is left alone.

        Args:
            limit: of the wait.
            idle_since: when the upload last counted as alive, in seconds of the event loop's clock.
        """
        self._limit, self._idle_since = limit, idle_since
        try:
            yield
        finally:
            self._limit = None

    def idle_s(self, now: float) -> float:
        """Return for how long too little has come, in seconds; 0 while the upload is at work."""
        return 0.0 if self._limit is None else now - self._idle_since

    def displace(self, now: float) -> None:
        """Have the wait under way time out at once."""
        if self._limit is not None and not self._limit.expired():
            self.is_displaced = True
            self._limit.reschedule(now)


class UploadSlots:
    """Counts the open uploads of this process.

    Args:
        total: how many may be open.
        per_seller: how many of them may be of one seller.
        spared_s: an upload that has been idle for longer makes place for a new one when all places are taken, the
            idlest first: idle uploads, of however many sellers, do not keep out those that bring something.
    """

    def __init__(self, total: int, per_seller: int, *, spared_s: float) -> None:
        self._total = total
        self._per_seller = per_seller
        self._spared_s = spared_s
        self._open: set[OpenUpload] = set()
        self._of_seller: Counter[str] = Counter()

    @contextmanager
    def hold(self) -> Iterator[OpenUpload]:
        """Hold a place among all uploads, whoever sends this one.

        Raises:
            ResourceExhausted: all places are taken, by uploads that are not idle for long.
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
        """Hold a place among the uploads of a seller.

        Raises:
            ResourceExhausted: the seller has as many uploads open as one may have.
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
