"""How many uploads may be open at once: in this process, and of one seller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from classifeed_common.errors import ResourceExhausted

_RETRY_AFTER_S: Final = 5.0


class UploadSlots:
    """Counts the open uploads of this process.

    Args:
        total: how many may be open.
        per_seller: how many of them may be of one seller.
    """

    def __init__(self, total: int, per_seller: int) -> None:
        self._total = total
        self._per_seller = per_seller
        self._open = 0
        self._of_seller: Counter[str] = Counter()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a place among all uploads, whoever sends this one.

        Raises:
            ResourceExhausted: all places are taken.
        """
        if self._open >= self._total:
            raise ResourceExhausted(
                "UPLOADS_FULL",
                f"{self._open} uploads are open here, and no more are taken. Nothing was stored; send the file again "
                f"in {_RETRY_AFTER_S:.0f} s.",
                retry_after_s=_RETRY_AFTER_S,
            )
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @contextmanager
    def hold_for(self, seller_id: str) -> Iterator[None]:
        """Hold a place among the uploads of a seller.

        Raises:
            ResourceExhausted: the seller has as many uploads open as one may have.
        """
        if self._of_seller[seller_id] >= self._per_seller:
            raise ResourceExhausted(
                "SELLER_UPLOADS_FULL",
                f"Seller {seller_id} has {self._per_seller} uploads open, and a seller may have no more. Nothing was "
                "stored; let one of them end and send the file again.",
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
