"""Basic types of the domain: status, origin and last change of an offer."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from classifeed.offers.v1.offer_pb2 import OfferContent

HASH_BYTES = 16


class Status(StrEnum):
    """Status of an offer; the names are those of the contract's OfferStatus."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    REJECTED = "REJECTED"
    BANNED = "BANNED"
    REMOVED = "REMOVED"


class Origin(StrEnum):
    """Owner of an offer: the namespace's feed, or a person."""

    FEED = "FEED"
    MANUAL = "MANUAL"


class Change(StrEnum):
    """Change of an offer by the task `last_task_id`."""

    ADDED = "ADDED"
    UPDATED = "UPDATED"
    REMOVED = "REMOVED"
    MADE_MANUAL = "MADE_MANUAL"


class Namespace(NamedTuple):
    """One seller's namespace; offers, loads and errors of two namespaces never affect each other."""

    seller_id: str
    namespace: str


class Run(NamedTuple):
    """One attempt of one task of a namespace. Within a namespace, a greater run supersedes a smaller one."""

    task_id: int
    run: int


class Place(NamedTuple):
    """Place of an offer in a load: the task, and the position and line in the file, from 1; 0: unknown."""

    task_id: int
    ordinal: int = 0
    line: int = 0


class OfferState(NamedTuple):
    """State of an offer, as far as a load needs it.

    Attributes not listed are as in the table `offers`.

    Attributes:
        offer_id: id of the offer; 0: it is not stored yet.
        content: content of the offer; None: it was not needed and not read.
        pictures: records of its pictures; None: they were not needed and not read.
        is_requested: whether a verdict about its text must be requested.
        awaits_pictures: whether results about its pictures are awaited.
        last_ordinal: set for writing only, and not read.
        last_line: set for writing only, and not read.
    """

    offer_id: int
    content_hash: bytes
    origin: Origin
    status: Status
    last_task_id: int
    last_change: Change
    moderation: str
    text_hash: bytes | None = None
    approved_text_hash: bytes | None = None
    ban: bytes | None = None
    picture_faults: bytes | None = None
    published_content: bytes | None = None
    content: bytes | None = None
    pictures: bytes | None = None
    is_requested: bool = False
    awaits_pictures: bool = False
    last_ordinal: int = 0
    last_line: int = 0

    @property
    def exists(self) -> bool:
        """Whether the seller has the offer: a removed offer only keeps its row."""
        return self.status is not Status.REMOVED


def digest_of(data: bytes) -> bytes:
    """Return the 16 bytes of BLAKE2b that the protocol uses for contents, batches and runs."""
    return hashlib.blake2b(data, digest_size=HASH_BYTES).digest()


def hash_of(content: OfferContent) -> bytes:
    """Return the hash of an offer's content, for offers that this service changes without a whole feed record."""
    return digest_of(content.SerializeToString(deterministic=True))
