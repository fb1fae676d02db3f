"""Compressed blocks of issues that have no rows, with metadata to find issues without reading all (ADR 0096)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from google.protobuf.message import DecodeError

from classifeed.feeds.v1.issue_record_pb2 import IssueBlock, IssueBlockContent, IssueTopic
from classifeed.feeds.v1.load_pb2 import OfferError

BLOCK_ISSUES: Final = 1000
# A higher level saves a tenth of the bytes and takes twice the time.
_COMPRESSION: Final = 1

IssueKey: TypeAlias = tuple[int, int, int, str]
"""Place of an issue in the list: level, position of the offer in the file, line, id of the issue."""


class BlockDamaged(Exception):
    """The bytes of a block cannot be read."""


class PackedBlock(NamedTuple):
    """A block and its compressed issues."""

    block: IssueBlock
    content: bytes


@dataclass(frozen=True, slots=True)
class IssueFilter:
    """Filter of issues; 0 and an empty text match all."""

    level: int = 0
    kind: int = 0
    code: str = ""
    field: str = ""
    external_id: str = ""

    def matches(self, error: OfferError) -> bool:
        """Return whether an issue matches the filter."""
        return (
            self.level in (0, error.level)
            and self.kind in (0, error.kind)
            and self.code in ("", error.code)
            and self.field in ("", error.field)
            and self.external_id in ("", error.external_id)
        )

    def may_match(self, block: IssueBlock) -> bool:
        """Return False only if no issue of a block matches the filter."""
        if self.level not in (0, block.level):
            return False
        # A false match across two adjacent hashes only means that a block is read in vain.
        if self.external_id and _hash_of(self.external_id) not in block.ids:
            return False
        return any(
            self.kind in (0, topic.kind) and self.code in ("", topic.code) and self.field in ("", topic.field)
            for topic in block.topics
        )


def key_of(error: OfferError) -> IssueKey:
    """Return the place of an issue in the list: errors first, each level in the order of the file."""
    return error.level, error.ordinal, error.line, error.error_id


def pack_chunks(errors: Iterable[OfferError]) -> Iterator[PackedBlock]:
    """Yield blocks of issues, each of one level; the issues may come in any order."""
    ordered = sorted(errors, key=key_of)
    for _, of_level in groupby(ordered, lambda error: error.level):
        issues = list(of_level)
        for start in range(0, len(issues), BLOCK_ISSUES):
            yield pack_block(issues[start : start + BLOCK_ISSUES])


def pack_block(errors: Sequence[OfferError]) -> PackedBlock:
    """Return the block of at least one issue, all of one level and in the order of the list."""
    topics = dict.fromkeys((error.kind, error.code, error.field) for error in errors)
    block = IssueBlock(
        level=errors[0].level,
        first_ordinal=errors[0].ordinal,
        last_ordinal=errors[-1].ordinal,
        count=len(errors),
        ids=b"".join(sorted({_hash_of(error.external_id) for error in errors})),
        topics=[IssueTopic(kind=kind, code=code, field=field) for kind, code, field in topics],
    )
    content = IssueBlockContent(errors=errors).SerializeToString()
    return PackedBlock(block, zlib.compress(content, _COMPRESSION))


def unpack_block(content: bytes) -> Sequence[OfferError]:
    """Return the issues of a block, in the order of the list.

    Raises:
        BlockDamaged: its bytes cannot be read.
    """
    try:
        return IssueBlockContent.FromString(zlib.decompress(content)).errors
    except (zlib.error, DecodeError) as error:
        raise BlockDamaged(str(error)) from error


def _hash_of(external_id: str) -> bytes:
    return zlib.crc32(external_id.encode()).to_bytes(4, "big")
