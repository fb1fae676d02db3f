"""Words of the domain: where an offer stands, who keeps it, what last happened to it."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from classifeed.offers.v1.offer_pb2 import OfferContent

HASH_BYTES = 16


class Status(StrEnum):
    """Where an offer stands; the names are those of the contract's OfferStatus."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    REJECTED = "REJECTED"
    BANNED = "BANNED"
    REMOVED = "REMOVED"


class Origin(StrEnum):
    """Who keeps an offer alive: the namespace's feed, or a person."""

    FEED = "FEED"
    MANUAL = "MANUAL"


class Change(StrEnum):
    """What the task named in `last_task_id` did to the offer."""

    ADDED = "ADDED"
    UPDATED = "UPDATED"
    REMOVED = "REMOVED"
    MADE_MANUAL = "MADE_MANUAL"


class Namespace(NamedTuple):
    """One seller's namespace: offers, loads and errors of two namespaces never touch each other."""

    seller_id: str
    namespace: str


class Run(NamedTuple):
    """One try of one task of a namespace. Within a namespace a greater run rules over a smaller one."""

    task_id: int
    run: int


class Place(NamedTuple):
    """Where a load has an offer: its task, and the position and line in its file, from 1; 0 when unknown."""

    task_id: int
    ordinal: int = 0
    line: int = 0


class OfferState(NamedTuple):
    """What a load has to know about an offer. `offer_id` is 0 for one that is not stored yet; `content` and `pictures`
    are None where nothing needs them and they were not read; the five before are as in `offers`. `is_requested` says
    that a verdict about its text has to be requested, `awaits_pictures` that results about its pictures are to come.
    `last_ordinal` and `last_line` are set where it is written, and not read.
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
        """Whether the offer is there for its seller: a removed one only keeps its row."""
        return self.status is not Status.REMOVED


def digest_of(data: bytes) -> bytes:
    """Return the 16 bytes of BLAKE2b that the protocol uses for contents, batches and runs."""
    return hashlib.blake2b(data, digest_size=HASH_BYTES).digest()


def hash_of(content: OfferContent) -> bytes:
    """Return the hash of an offer's content, for offers that are changed here and not by a whole record of a feed."""
    return digest_of(content.SerializeToString(deterministic=True))
