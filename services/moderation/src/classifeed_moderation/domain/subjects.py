"""Subjects: texts to be judged, and their keys."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Final
from urllib.parse import quote
from uuid import UUID

HASH_BYTES: Final = 16
_OFFER: Final = "offer/"
_VERSION: Final = "~"


class Kind(StrEnum):
    """Kind of the owner of a text."""

    POINT = "POINT"
    COMMENT = "COMMENT"
    OFFER = "OFFER"


class Status(StrEnum):
    """Whether a text may be shown."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    DISAPPROVED = "DISAPPROVED"


@dataclass(frozen=True, slots=True)
class Task:
    """A text that waits for its verdict.

    Attributes:
        key: key of the subject, without the version of its text.
        kind: kind of the subject.
        text: plain text.
        text_hash: 16 bytes that identify this text of the subject.
        region_ids: regions from the nearest to the country.
        is_check: whether the text is only checked, without a review by people.
    """

    key: str
    kind: Kind
    text: str
    text_hash: bytes
    region_ids: tuple[int, ...]
    is_check: bool = False

    @property
    def sent_key(self) -> str:
        """The key for the verdict service: includes the text's hash if the text may change."""
        return f"{self.key}{_VERSION}{self.text_hash.hex()}" if self.kind is Kind.OFFER else self.key


def point_key(point_id: UUID) -> str:
    """Return the key of a point."""
    return str(point_id)


def comment_key(point_id: UUID, index: int) -> str:
    """Return the key of a comment of a point."""
    return f"{point_id}/{index}"


def offer_key(seller_id: str, namespace: str, external_id: str) -> str:
    """Return the key of an offer's text."""
    return _OFFER + "/".join(quote(part, safe="") for part in (seller_id, namespace, external_id))


@dataclass(frozen=True, slots=True)
class SentKey:
    """A key that the verdict service returned: the subject's key, and the text's hash if one was sent."""

    key: str
    text_hash: bytes | None

    @property
    def is_editable(self) -> bool:
        """Whether the key names a subject whose text may change."""
        return self.key.startswith(_OFFER)


def parse_sent_key(raw: str) -> SentKey:
    """Return the parts of a key. A part after `~` that is not a hash belongs to the key."""
    key, separator, version = raw.rpartition(_VERSION)
    if separator and raw.startswith(_OFFER):
        try:
            text_hash = bytes.fromhex(version)
        except ValueError:
            return SentKey(raw, None)
        if len(text_hash) == HASH_BYTES:
            return SentKey(key, text_hash)
    return SentKey(raw, None)


def hash_text(text: str) -> bytes:
    """Return the hash of a text: 16 bytes of BLAKE2b over its UTF-8."""
    return blake2b(text.encode(), digest_size=HASH_BYTES).digest()


def cache_key(kind: Kind, region_ids: tuple[int, ...], text: str) -> bytes:
    """Return the key under which verdicts about equal texts are kept: case and white space do not count."""
    normalised = " ".join(text.casefold().split())
    regions = ",".join(map(str, region_ids))
    return hash_text(f"{kind}\0{regions}\0{normalised}")
