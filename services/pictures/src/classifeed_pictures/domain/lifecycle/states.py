"""The state of the picture of one URL."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo

_GROUPS: Final = 10_000
_NAME_BYTES: Final = 16


@dataclass(slots=True)
class Holding:
    """The picture in one namespace, which keeps it or waits for it.

    Attributes:
        first_attempt: lowest number of an order for it. Pictures of earlier attempts belong to a deleted state, and are
            deleted, too.
        attempt: number of the newest order for this namespace; 0 if there is none.
        ordered_at: time of that order; None: no order is open.
        is_copy: whether the order is a copy from another namespace.
        info: the picture; None: not kept yet.
        info_attempt: attempt that brought the picture, or a picture that its host has forbidden since; 0: there was
            none.
        failure: failure of this namespace only, such as its quota.
        retry_at: time when the order may be retried.
        failed_attempts: number of such failures in a row.
    """

    first_attempt: int
    attempt: int = 0
    ordered_at: datetime | None = None
    is_copy: bool = False
    info: PictureInfo | None = None
    info_attempt: int = 0
    failure: LoadFailure | None = None
    retry_at: datetime | None = None
    failed_attempts: int = 0


@dataclass(slots=True)
class State:
    """The state of the picture of a URL.

    Attributes:
        url: canonical URL, or the key of a picture that was put.
        url_hash: 16 bytes.
        is_put: whether it was put, or requested, by hand; only an explicit deletion removes it.
        attempt: number of the newest order for any namespace.
        attempt_at: time of that order.
        next_attempt_at: time when a pass over the states checks it; None: never.
        failed_attempts: number of failed downloads in a row; for a held picture, of refreshes.
        failure: failure of the last download; None after a success.
        retry_at: time when a request may cause the next download after that.
        delete_mark_at: time of the comparison that first found it unused; None: it is used.
        requested_at: time of the newest request that changed the state.
        refresh_at: time of the next refresh; None: never.
        holdings: holdings by namespace.
    """

    url: str
    url_hash: bytes
    is_put: bool = False
    attempt: int = 0
    attempt_at: datetime | None = None
    next_attempt_at: datetime | None = None
    failed_attempts: int = 0
    failure: LoadFailure | None = None
    retry_at: datetime | None = None
    delete_mark_at: datetime | None = None
    requested_at: datetime | None = None
    refresh_at: datetime | None = None
    holdings: dict[str, Holding] = field(default_factory=dict)

    def newest_info(self) -> PictureInfo | None:
        """Return the picture of the newest attempt in any namespace."""
        held = [holding for holding in self.holdings.values() if holding.info is not None]
        return max(held, key=lambda holding: holding.info_attempt).info if held else None


def name_picture(url_hash: bytes, content_hash: bytes) -> tuple[int, str]:
    """Return group id and name of a picture: the same for the same bytes of the same URL, otherwise different."""
    digest = hashlib.blake2b(url_hash + content_hash, digest_size=_NAME_BYTES).digest()
    return int.from_bytes(digest[:4], "big") % _GROUPS, digest.hex()
