"""One ordered list out of rows and blocks of issues; a block is read when the list reaches it."""

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
    """A block of issues and the way to read it; `load` returns them in the order of the list."""

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

    Memory holds the segments that overlap at one place of the list, which for those of one run are few. Of issues with
    one key, a row comes first.

    Args:
        rows: wanted issues from `begin` on, in the order of the list.
        segments: blocks in any order.
        wanted: which of their issues are wanted.
        begin: the key of the first issue.
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
