"""DocumentPublisher: pushes documents, and notices when the receiver, or the table they come from, went back."""

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

# How long the receiver must be ahead of us before that means more than a result that we have not noted yet.
_AHEAD_FOR_S: Final = 30.0
_NO_TRACES: Final[Mapping[int, str]] = {}


class Loss(StrEnum):
    """Which side lost what it had, so that everything is published once more."""

    RECEIVER = "the receiver's database was restored from an older backup"
    OWN = "the database that the documents come from was restored from an older backup"


class Documents(Protocol):
    """Takes documents and schemas; idempotent."""

    async def push(
        self, documents: Sequence[RawDocument], known: Mapping[int, int], traces: Mapping[int, str]
    ) -> PushedDocuments:
        """Return the result of each, in their order; raise when nothing is known."""
        ...

    async def check_positions(self, known: Mapping[int, int]) -> dict[int, int]:
        """Return where the queues end; raise as `push` does."""
        ...

    async def put_schema(self, schema: Schema) -> None:
        """Put the schema of an epoch."""
        ...


Restart: TypeAlias = Callable[[Tx], Awaitable[None]]
Begin: TypeAlias = Callable[[Tx, Loss], Awaitable[object]]


class DocumentPublisher:
    """Pushes documents for MarkPusher, for one pusher at a time.

    It keeps the newest elements that the receiver acknowledged, in the transaction of the mark, and sends them with
    each push: a receiver that went back behind them refuses before it writes anything, and everything is pushed again.
    Where the receiver is ahead of what is kept, it is this database that went back.

    Args:
        database: with the table `published_positions`.
        documents: the receiver.
        schema: of the documents.
        restart: `MarkPusher.restart`: in the same transaction, so that no push from before moves a mark afterwards.
        begin: begins to publish everything once more, in the transaction that notes the loss.
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
        """Push documents; the positions of the response are to be written with the mark (`record`).

        Raises:
            DomainError: nothing is known of these documents.
        """
        self._ahead.clear()
        try:
            return await self._documents.push(documents, await self._known(), traces)
        except FailedPrecondition as error:
            await self._recover(error)
            raise

    async def record(self, tx: Tx, positions: Mapping[int, int]) -> None:
        """Note what a push was acknowledged, in the transaction that moves its marks."""
        if positions:
            await write_positions(tx, positions)

    async def check(self) -> None:
        """Compare what the receiver has with what it acknowledged, while nothing is due.

        Raises:
            DomainError: the receiver is away, or went back.
        """
        try:
            known = await self._known()
            ends = await self._documents.check_positions(known)
        except Unimplemented:
            return  # a receiver that is older than we are
        except FailedPrecondition as error:
            await self._recover(error)
            raise
        now_s = asyncio.get_running_loop().time()
        ahead = {(shard, known.get(shard, 0), end) for shard, end in ends.items() if end > known.get(shard, 0)}
        self._ahead = {gap: self._ahead.get(gap, now_s) for gap in ahead}
        if any(now_s - since_s >= _AHEAD_FOR_S for since_s in self._ahead.values()):
            await self._begin_after_own_loss(known, ends)

    async def _known(self) -> dict[int, int]:
        """Return what the receiver has acknowledged; what it has now where nothing was ever noted."""
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
        """Publish everything once more, once for each loss: the receiver does not have this element any more."""
        async with self._database.transaction() as tx:
            if (await select_positions(tx)).get(shard) != idx:
                return
            await self._restart(tx)  # first, so that nobody else writes positions or begins
            if await forget_positions(tx, shard, idx):
                await write_positions(tx, ends)
                await self._begin(tx, Loss.RECEIVER)

    async def _begin_after_own_loss(self, known: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Publish everything once more: the receiver has what this database knows nothing of."""
        async with self._database.transaction() as tx:
            await self._restart(tx)
            if await select_positions(tx) == known:
                await write_positions(tx, ends)
                await self._begin(tx, Loss.OWN)
