"""Events for the processor, and the states, requests and messages that it leaves in real tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from google.protobuf.message import Message as ProtobufMessage

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder, DownloadOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureResult, PictureResults
from classifeed_common.db import Database
from classifeed_common.outbox import Outbox
from classifeed_pictures.app.events.process_events import PictureEvents, process_events
from classifeed_pictures.domain.lifecycle.events import Event, Loaded, Request
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.recipients import OFFERS
from classifeed_pictures.domain.lifecycle.states import name_picture
from classifeed_pictures.store.states.states import list_states

RULES = LifecycleRules()
M = TypeVar("M", bound=ProtobufMessage)


def hash_of(number: int) -> bytes:
    """Return the hash of a made-up URL."""
    return number.to_bytes(16, "big")


def info(number: int, namespace: str = "offers", content: bytes = b"1") -> PictureInfo:
    """Return a stored picture of a made-up URL."""
    group_id, name = name_picture(hash_of(number), content)
    return PictureInfo(namespace=namespace, group_id=group_id, name=name, content_hash=content)


def request(
    reference: str = "1", namespace: str = "offers", recipient: str = "seller", client: str = OFFERS
) -> Request:
    """Return a request made now."""
    return Request(namespace, recipient, reference, "https://shop.example/p.jpg", datetime.now(UTC), client)


def loaded(outcome: PictureInfo | LoadFailure, attempt: int, namespace: str = "offers") -> Loaded:
    """Return the result of an order."""
    return Loaded(namespace, attempt, outcome, datetime.now(UTC))


@dataclass
class Processor:
    """The processor of events, without Kafka."""

    database: Database
    outbox: Outbox = field(default_factory=Outbox)

    async def process(self, events: dict[int, Sequence[Event]]) -> None:
        """Process a batch of events, by the numbers of their URLs."""
        pictures = [PictureEvents(f"key-{number}", hash_of(number), happened) for number, happened in events.items()]
        async with self.database.transaction() as tx:
            await process_events(tx, pictures, outbox=self.outbox, rules=RULES)

    async def store(self, number: int) -> None:
        """Request and store a picture; empty the outbox."""
        await self.process({number: [request()]})
        [order] = await self.take(DownloadOrder)
        await self.process({number: [loaded(info(number), order.attempt)]})
        await self.take(PictureResults)

    async def attempt(self, number: int) -> int:
        async with self.database.transaction() as tx:
            return (await list_states(tx, [hash_of(number)]))[hash_of(number)].state.attempt

    async def take(self, kind: type[M]) -> list[M]:
        """Remove and return the messages of a kind in the outbox."""
        name = kind.DESCRIPTOR.full_name
        async with self.database.transaction() as tx:
            cursor = await tx.execute("DELETE FROM outbox WHERE headers->>'type' = %s RETURNING id, value", [name])
            return [kind.FromString(value) for _, value in sorted(await cursor.fetchall())]

    async def results(self) -> list[PictureResult]:
        """Remove and return the results that were sent."""
        return [result for message in await self.take(PictureResults) for result in message.results]

    async def orders(self) -> list[DownloadOrder | CopyOrder | DeleteOrder]:
        """Remove and return the orders that were sent."""
        return [*await self.take(DownloadOrder), *await self.take(CopyOrder), *await self.take(DeleteOrder)]

    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()


def hours_ago(hours: float) -> datetime:
    return datetime.now(UTC) - timedelta(hours=hours)
