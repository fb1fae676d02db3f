"""Combine the writes of concurrent pushes into few transactions (ADR 0010)."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from classifeed_common.db import is_passing_fault
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_receiver.domain.documents import NewDocument, Outcome, Retry, ShardPosition

_log = structlog.get_logger(__name__)

_TRANSACTION_DOCUMENTS: Final = 1000
# Small pushes that come within this time share a commit (ADR 0010).
_COALESCE_S: Final = 0.003
_COALESCE_DOCUMENTS: Final = 100
# The documents of a longer write get RETRY, and their client sends them again.
_LIMIT_S: Final = 8.0

Write = Callable[[str, Sequence[NewDocument], Collection[ShardPosition]], Awaitable[list[Outcome]]]


@dataclass(frozen=True, slots=True)
class _Push:
    documents: Sequence[NewDocument]
    known: Collection[ShardPosition]
    outcomes: asyncio.Future[list[Outcome]]


@dataclass(slots=True)
class _ClientQueue:
    """The pushes of one client that wait to be written."""

    pushes: deque[_Push] = field(default_factory=deque)
    waiting: int = 0
    full: asyncio.Event = field(default_factory=asyncio.Event)
    gathering: bool = False


class WriteCoalescer:
    """Combines pushes of one client into transactions.

    A push waits at most `coalesce_s` for others, and not at all once `coalesce_documents` are waiting. While the
    maximum number of transactions runs, further pushes accumulate. A push is never split: its documents are written
    together.

    Args:
        write: function that checks the pushes' known positions, writes the documents in one transaction, and returns
            the outcome of each document.
        transactions: maximum number of concurrent transactions.
        coalesce_s: maximum wait of a transaction's first push for others, in seconds.
        coalesce_documents: number of waiting documents that ends the wait.
        limit_s: timeout of a write, in seconds; after it the outcome of its documents is Retry.
    """

    def __init__(
        self,
        write: Write,
        *,
        transactions: int,
        coalesce_s: float = _COALESCE_S,
        coalesce_documents: int = _COALESCE_DOCUMENTS,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._write = write
        self._coalesce_s = coalesce_s
        self._coalesce_documents = coalesce_documents
        self._limit_s = limit_s
        self._slots = asyncio.Semaphore(transactions)
        self._queues: dict[str, _ClientQueue] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def write(
        self, client: str, documents: Sequence[NewDocument], known: Collection[ShardPosition] = ()
    ) -> list[Outcome]:
        """Return the outcomes of documents after the commit of their transaction; Retry if it is unknown.

        Idempotent. The write continues if its caller stops waiting.

        Args:
            client: client of the documents.
            documents: documents to write together.
            known: positions acknowledged to the client before; nothing is written if one of them is unknown.
        """
        queue = self._queues.setdefault(client, _ClientQueue())
        push = _Push(documents, known, asyncio.get_running_loop().create_future())
        queue.pushes.append(push)
        queue.waiting += len(documents)
        if queue.waiting >= self._coalesce_documents:
            queue.full.set()
        if not queue.gathering:
            self._gather_soon(client, queue)
        return await push.outcomes

    async def stop(self) -> None:
        """Return after all waiting pushes are written."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _gather_soon(self, client: str, queue: _ClientQueue) -> None:
        queue.gathering = True
        # A new context: the deadline and the trace of one caller do not apply to the others.
        task = asyncio.create_task(self._gather(client, queue), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _gather(self, client: str, queue: _ClientQueue) -> None:
        if not queue.full.is_set():
            try:
                async with asyncio.timeout(self._coalesce_s):
                    await queue.full.wait()
            except TimeoutError:
                pass
        async with self._slots:
            pushes = self._take(queue)
            queue.gathering = False
            if queue.pushes:
                self._gather_soon(client, queue)
            await self._settle(client, pushes)

    def _take(self, queue: _ClientQueue) -> list[_Push]:
        taken: list[_Push] = []
        size = 0
        while queue.pushes and (not taken or size + len(queue.pushes[0].documents) <= _TRANSACTION_DOCUMENTS):
            push = queue.pushes.popleft()
            queue.waiting -= len(push.documents)
            size += len(push.documents)
            taken.append(push)
        if queue.waiting < self._coalesce_documents:
            queue.full.clear()
        return taken

    async def _settle(self, client: str, pushes: Sequence[_Push]) -> None:
        documents = [document for push in pushes for document in push.documents]
        known = {position for push in pushes for position in push.known}
        try:
            async with asyncio.timeout(self._limit_s):
                outcomes = await self._write(client, documents, known)
        except Exception as error:  # noqa: BLE001 after any error, the callers still wait for an outcome
            if isinstance(error, TimeoutError) or is_passing_fault(error):
                log_fault(_log, "receiver.write.failed", error, client=client, documents=len(documents))
                outcomes = [Retry()] * len(documents)
            elif len(pushes) > 1:
                # One push must not fail the others: retry each in a separate transaction.
                for push in pushes:
                    await self._settle(client, [push])
                return
            else:
                if not pushes[0].outcomes.done():
                    pushes[0].outcomes.set_exception(error)
                return
        start = 0
        for push in pushes:
            end = start + len(push.documents)
            if not push.outcomes.done():
                push.outcomes.set_result(outcomes[start:end])
            start = end
