"""Merge rows and blocks of issues into one ordered list; a block is read when the list reaches it."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from classifeed.feeds.v1.issue_record_pb2 import IssueBlock
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed_processor.domain.issue_blocks import IssueFilter, IssueKey, key_of


@dataclass(frozen=True, slots=True)
class Segment:
    """A block of issues, and `load`, which reads the issues in the order of the list."""

    block: IssueBlock
    load: Callable[[], Awaitable[Sequence[OfferError]]]

    @property
    def first(self) -> tuple[int, int]:
        """Level and position of its first offer."""
        return self.block.level, self.block.first_ordinal

    @property
    def last(self) -> tuple[int, int]:
        """Level and position of its last offer."""
        return self.block.level, self.block.last_ordinal


class _Head(NamedTuple):
    key: IssueKey
    number: int
    error: OfferError


async def join_issues(
    rows: AsyncIterator[OfferError],
    segments: Iterable[Segment],
    wanted: IssueFilter,
    begin: IssueKey,
) -> AsyncIterator[OfferError]:
    """Yield the issues of rows and segments from `begin` on, in the order of the list.

    Memory holds the segments that overlap at the current place, which are few for segments of one run. If a row and an
    issue of a block have the same key, the row comes first.

    Args:
        rows: filtered issues from `begin` on, in the order of the list.
        segments: blocks in any order.
        wanted: filter for the issues of the blocks.
        begin: key of the first issue.
    """
    waiting = deque(
        sorted(
            (each for each in segments if each.last >= begin[:2] and wanted.may_match(each.block)),
            key=lambda each: each.first,
        )
    )
    heap: list[_Head] = []
    opened: dict[int, Iterator[OfferError]] = {}
    if (row := await anext(rows, None)) is not None:
        heap.append(_Head(key_of(row), 0, row))
    number = 0
    while heap or waiting:
        while waiting and (not heap or waiting[0].first <= heap[0].key[:2]):
            errors = await waiting.popleft().load()
            found = iter([each for each in errors if wanted.matches(each) and key_of(each) >= begin])
            if (error := next(found, None)) is not None:
                number += 1
                opened[number] = found
                heapq.heappush(heap, _Head(key_of(error), number, error))
        if not heap:
            return
        head = heap[0]
        yield head.error
        following = await anext(rows, None) if head.number == 0 else next(opened[head.number], None)
        if following is None:
            heapq.heappop(heap)
            opened.pop(head.number, None)
        else:
            heapq.heapreplace(heap, _Head(key_of(following), head.number, following))
