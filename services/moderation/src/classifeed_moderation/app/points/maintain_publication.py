"""PointPublication: keeps the search consistent with the points, from the schema to the last push."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

from classifeed_common.db import Database, Tx
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner import Watch
from classifeed_domain.publishing import DocumentPublisher, Documents, RegistryComparison, put_schema
from classifeed_domain.publishing.comparison import ListedDocuments
from classifeed_domain.publishing.publisher import Begin
from classifeed_moderation.app.points.publish_points import PublishPoints
from classifeed_moderation.domain.documents import DuePoint, schema
from classifeed_moderation.store import points, publishing

_COUNTED: Final = 1000


class Registry(Documents, ListedDocuments, Protocol):
    """The receiver, for the client `points`."""


class PointPublication:
    """Registers the schema, then pushes approved points and removes the others, in one process at a time.

    It also compares the registry with the points, so that a restore of either leaves no other documents.

    Args:
        database: database of the points.
        registry: the receiver, for the client `points`.
        leases: leases that exclude other processes.
        begin: starts to publish all points again, in the transaction that records a loss.
        round_s: minimum seconds between two comparisons with the registry and counts of lost texts.
    """

    def __init__(
        self, database: Database, registry: Registry, leases: Leases, *, begin: Begin, round_s: float = 30.0
    ) -> None:
        self._database = database
        self._registry = registry
        self._schema_fault = ""
        publisher = DocumentPublisher(database, registry, schema(), restart=self._restart, begin=begin)
        publish_points = PublishPoints(publisher)
        self._pusher = MarkPusher(
            database,
            name="points",
            select_due=publishing.SELECT_DUE,
            advance=publishing.ADVANCE,
            row_type=DuePoint,
            push=publish_points,
            record=publish_points.record,
            on_idle=publish_points.check,
            leases=leases,
        )
        self._comparison = RegistryComparison(
            database,
            registry,
            publisher,
            leases,
            schema=schema(),
            find_unequal=publishing.find_unequal,
            publish_again=publishing.publish_again,
            on_due=self._pusher.wake,
            round_s=round_s,
        )

        self._watch = Watch(self._find_lost_texts, what="texts of points", period_s=round_s)

    def wake(self) -> None:
        """Look for points to publish now; call it after the commit of a change."""
        self._pusher.wake()

    async def run(self, stop: asyncio.Event) -> None:
        """Publish until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch.run(stop))
            if await put_schema(self._registry, schema(), stop, self._note_schema_fault):
                group.create_task(self._pusher.run(stop))
                group.create_task(self._comparison.run(stop))

    async def backlog(self) -> dict[str, int]:
        """Return the number of points whose newest version is not published."""
        return {"points_unpublished": await self._pusher.backlog()}

    def blocked(self) -> Mapping[str, str]:
        """Return why nothing is published, for people."""
        schema = {"schema": self._schema_fault} if self._schema_fault else {}
        return {**schema, **self._watch.blocked(), **self._pusher.blocked(), **self._comparison.blocked()}

    def _note_schema_fault(self, fault: str) -> None:
        self._schema_fault = fault

    async def _find_lost_texts(self) -> Mapping[str, str]:
        async with self._database.connection() as connection:
            count, point_id = await points.count_without_texts(connection, _COUNTED)
        if not count:
            return {}
        return {
            "texts": (
                f"Points and comments without a text: {count}, one of them is at points/{point_id}. The tables "
                "subjects and decisions were restored without points, comments and votes. They are not shown. "
                "Restore all five tables from one backup, have the authors create their points again with the same "
                "ids, or delete the points."
            )
        }

    async def _restart(self, tx: Tx) -> None:
        await self._pusher.restart(tx)
