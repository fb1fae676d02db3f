"""The state of a picture: what is kept of one URL."""

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
    """A namespace that keeps the picture, or is to keep it.

    Attributes:
        first_attempt: Lowest number that an order for it can have. What earlier ones have stored belongs to a state
            that was deleted, and is deleted too.
        attempt: Number of the newest order for this namespace; 0: none yet.
        ordered_at: When it was given; None: nothing is on its way.
        is_copy: Whether it is a copy from another namespace.
        info: The picture; None: not kept yet.
        info_attempt: Attempt that brought it, or the one that its host has forbidden since; 0: there was none.
        failure: Why this namespace alone does not get it, such as its quota.
        retry_at: When that may be tried again.
        failed_attempts: How often that was so in a row.
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
    """What is kept of the picture of a URL.

    Attributes:
        url: Canonical URL, or the key of a picture that was put.
        url_hash: 16 bytes.
        is_put: Whether it was put, or requested, by hand: only a request to delete it deletes it.
        attempt: Number of the newest order for any namespace.
        attempt_at: When it was given.
        next_attempt_at: When a pass over the states looks at it again; None: never.
        failed_attempts: Failed downloads in a row; of a picture that is held, refreshes.
        failure: Of the last download; None after a success.
        retry_at: When a request may cause the next download after that.
        delete_mark_at: Time of the comparison that found it unused first; None: it is used.
        requested_at: Time of the newest request that changed the state.
        refresh_at: When its host is requested again whether it has changed; None: never.
        holdings: By namespace.
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
        """Return the picture as any namespace keeps it, that of the newest attempt."""
        held = [holding for holding in self.holdings.values() if holding.info is not None]
        return max(held, key=lambda holding: holding.info_attempt).info if held else None


def name_picture(url_hash: bytes, content_hash: bytes) -> tuple[int, str]:
    """Return group id and name of a picture: the same bytes of the same URL always get the same, others others."""
    digest = hashlib.blake2b(url_hash + content_hash, digest_size=_NAME_BYTES).digest()
    return int.from_bytes(digest[:4], "big") % _GROUPS, digest.hex()
