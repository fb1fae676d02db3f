"""Watch publication: open republications, and offers that the receiver refuses."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from classifeed_common.db import Database
from classifeed_offers.metrics import REFUSED
from classifeed_offers.store import publishing, republishing
from classifeed_offers.store.republishing import Republication

_log = structlog.get_logger(__name__)


class PublicationWatch:
    """Polls the tables, finishes pushed republications, and keeps the state for readiness. Any number may run."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: list[Republication] = []
        self._schema_fault = ""

    async def poll(self) -> Mapping[str, str]:
        """Read the tables once, finish pushed republications, and return what is blocked."""
        async with self._database.connection() as connection:
            for number, offers in await republishing.finish_pushed(connection):
                _log.info("offers.republication.finished", number=number, offers=offers)
                await republishing.forget_old(connection)
            self._open = await republishing.list_open(connection)
            REFUSED.set(await publishing.count_refused(connection))
        return self.blocked()

    async def backlog(self) -> int:
        """Return the number of open republications."""
        async with self._database.connection() as connection:
            await republishing.finish_pushed(connection)
            return len(await republishing.list_open(connection))

    def note_schema_fault(self, fault: str) -> None:
        """Keep the reason why the schema is not registered yet; "": it is."""
        self._schema_fault = fault

    def blocked(self) -> Mapping[str, str]:
        """Return what is not published yet and why, for people."""
        found = {f"republication {it.republication_id}": _describe(it) for it in self._open}
        if self._schema_fault:
            found["schema"] = self._schema_fault
        return found


def _describe(it: Republication) -> str:
    whose = "all offers" if it.scope.seller_id is None else f"the offers of {it.scope.seller_id}"
    so_far = (
        f"{it.offers} of them are marked" if it.marked_at is None else f"{it.offers} were marked, the rest is pushed"
    )
    return (
        f"{whose} are being pushed to the search again, as {it.reason}: {so_far}. Until it is complete the search may "
        f"show older offers. No action is needed"
    )
