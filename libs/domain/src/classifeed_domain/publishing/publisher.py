"""DocumentPublisher: pushes documents, and detects that the receiver or the source table was restored from a backup."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition, Unimplemented
from classifeed_domain.publishing.positions import forget_positions, select_positions, write_positions
from classifeed_domain.publishing.receiver import PushedDocuments

# The receiver may be ahead for a moment, until its response is stored here. After this time it counts as a loss.
_AHEAD_FOR_S: Final = 30.0
_NO_TRACES: Final[Mapping[int, str]] = {}


class Loss(StrEnum):
    """The side that lost data. After a loss, everything is published again."""

    RECEIVER = "the receiver's database was restored from an older backup"
    OWN = "the database that the documents come from was restored from an older backup"


class Documents(Protocol):
    """Receiver of documents and schemas; idempotent."""

    async def push(
        self, documents: Sequence[RawDocument], known: Mapping[int, int], traces: Mapping[int, str]
    ) -> PushedDocuments:
        """Return the result of each document, in order; raise if the results are unknown."""
        ...

    async def check_positions(self, known: Mapping[int, int]) -> dict[int, int]:
        """Return the end of each shard's queue; raise as `push` does."""
        ...

    async def put_schema(self, schema: Schema) -> None:
        """Put the schema of an epoch."""
        ...


Restart: TypeAlias = Callable[[Tx], Awaitable[None]]
Begin: TypeAlias = Callable[[Tx, Loss], Awaitable[object]]


class DocumentPublisher:
    """Pushes documents for one MarkPusher at a time.

    It stores the newest elements that the receiver acknowledged, in the transaction of the mark, and sends them with
    each push. A receiver that was restored to an earlier state refuses the push before it writes anything, and
    everything is published again. If the receiver stays ahead of the stored elements, this database was restored.

    Args:
        database: Database with the table `published_positions`.
        documents: Client of the receiver.
        schema: Schema of the documents.
        restart: `MarkPusher.restart`, in the same transaction, so that earlier pushes cannot move a mark afterwards.
        begin: Function that starts to publish everything again, in the transaction that stores the loss.
    """

    def __init__(
        self, database: Database, documents: Documents, schema: Schema, *, restart: Restart, begin: Begin
    ) -> None:
        self._database = database
        self._documents = documents
        self._schema = schema
        self._restart = restart
        self._begin = begin
        self._ahead: dict[tuple[int, int, int], float] = {}

    async def push(self, documents: Sequence[RawDocument], traces: Mapping[int, str] = _NO_TRACES) -> PushedDocuments:
        """Push documents. The caller stores the positions of the response together with the mark (`record`).

        Raises:
            DomainError: The results of these documents are unknown.
        """
        self._ahead.clear()
        try:
            return await self._documents.push(documents, await self._known(), traces)
        except FailedPrecondition as error:
            await self._recover(error)
            raise

    async def record(self, tx: Tx, positions: Mapping[int, int]) -> None:
        """Store the acknowledged positions of a push, in the transaction that moves its marks."""
        if positions:
            await write_positions(tx, positions)

    async def check(self) -> None:
        """Compare the receiver's positions with the acknowledged ones, while no document is due.

        Raises:
            DomainError: The receiver does not respond, or was restored to an earlier state.
        """
        try:
            known = await self._known()
            ends = await self._documents.check_positions(known)
        except Unimplemented:
            return  # a receiver of an earlier release
        except FailedPrecondition as error:
            await self._recover(error)
            raise
        now_s = asyncio.get_running_loop().time()
        ahead = {(shard, known.get(shard, 0), end) for shard, end in ends.items() if end > known.get(shard, 0)}
        self._ahead = {gap: self._ahead.get(gap, now_s) for gap in ahead}
        if any(now_s - since_s >= _AHEAD_FOR_S for since_s in self._ahead.values()):
            await self._begin_after_own_loss(known, ends)

    async def _known(self) -> dict[int, int]:
        """Return the acknowledged positions; if none are stored, store and return the receiver's current ones."""
        async with self._database.connection() as connection:
            known = await select_positions(connection)
        if known:
            return known
        try:
            ends = await self._documents.check_positions({})
        except Unimplemented:
            return {}
        async with self._database.transaction() as tx:
            await write_positions(tx, ends)
        return ends

    async def _recover(self, error: FailedPrecondition) -> None:
        if error.reason in {"CLIENT_HAS_NO_SCHEMA", "REGISTRY_WENT_BACK"}:
            await self._documents.put_schema(self._schema)
        if error.reason == "REGISTRY_WENT_BACK":
            ends = await self._documents.check_positions({})
            await self._begin_after_loss(int(error.metadata["shard"]), int(error.metadata["idx"]), ends)

    async def _begin_after_loss(self, shard: int, idx: int, ends: Mapping[int, int]) -> None:
        """Publish everything again, once per loss: the receiver no longer has this element."""
        async with self._database.transaction() as tx:
            if (await select_positions(tx)).get(shard) != idx:
                return
            await self._restart(tx)  # first, so that no other process writes positions or begins
            if await forget_positions(tx, shard, idx):
                await write_positions(tx, ends)
                await self._begin(tx, Loss.RECEIVER)

    async def _begin_after_own_loss(self, known: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Publish everything again: the receiver has elements that this database does not know."""
        async with self._database.transaction() as tx:
            await self._restart(tx)
            if await select_positions(tx) == known:
                await write_positions(tx, ends)
                await self._begin(tx, Loss.OWN)
