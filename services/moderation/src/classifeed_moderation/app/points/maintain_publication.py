"""PointPublication: keeps the search at what points are now, from the schema to the last push."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from classifeed_common.db import Database, Tx
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_domain.publishing import DocumentPublisher, Documents, put_schema
from classifeed_domain.publishing.publisher import Begin
from classifeed_moderation.app.points.publish_points import PublishPoints
from classifeed_moderation.domain.documents import DuePoint, schema
from classifeed_moderation.store import publishing


class PointPublication:
    """Puts the schema, then pushes approved points and removes the others, one process at a time.

    Args:
        documents: the receiver, for the client `points`.
        begin: begins to publish all points once more, in the transaction that notes a loss.
    """

    def __init__(self, database: Database, documents: Documents, leases: Leases, *, begin: Begin) -> None:
        self._documents = documents
        self._schema_fault = ""
        publisher = DocumentPublisher(database, documents, schema(), restart=self._restart, begin=begin)
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

    def wake(self) -> None:
        """Look for points to publish now; call it after the commit of a change."""
        self._pusher.wake()

    async def run(self, stop: asyncio.Event) -> None:
        """Publish until `stop`."""
        if await put_schema(self._documents, schema(), stop, self._note_schema_fault):
            await self._pusher.run(stop)

    async def backlog(self) -> dict[str, int]:
        """Return how many points are not published in their newest version."""
        return {"points_unpublished": await self._pusher.backlog()}

    def blocked(self) -> Mapping[str, str]:
        """Return why nothing is published, for people."""
        schema = {"schema": self._schema_fault} if self._schema_fault else {}
        return schema | self._pusher.blocked()

    def _note_schema_fault(self, fault: str) -> None:
        self._schema_fault = fault

    async def _restart(self, tx: Tx) -> None:
        await self._pusher.restart(tx)
