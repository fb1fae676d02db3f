"""The event log and its statistics."""

from __future__ import annotations

from typing import Any, Final

from classifeed.moderation.v1.moderation_service_pb2 import (
    FIGURE_INTERVAL_DAY,
    FigureRow,
    Figures,
    GetFiguresRequest,
    ListEventsRequest,
    ListEventsResponse,
)
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_moderation.rpc.messages import decision_message
from classifeed_moderation.store import decisions, figures

_DEFAULT_PAGE_DECISIONS: Final = 100
_DEFAULT_INTERVALS: Final = 24


class EventMethods:
    """RPC methods of decisions in their order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ListEvents(self, request: ListEventsRequest, context: Context) -> ListEventsResponse:
        """Return decisions after a number: all of them, or those about one text."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await decisions.list_decisions(
                tx,
                after=request.after_decision_id,
                limit=request.page_size or _DEFAULT_PAGE_DECISIONS,
                key=request.key or None,
            )
        return ListEventsResponse(decisions=[decision_message(row) for row in rows])

    async def GetFigures(self, request: GetFiguresRequest, context: Context) -> Figures:
        """Return figures of the last hours or days."""
        is_by_day = request.interval == FIGURE_INTERVAL_DAY
        intervals = request.intervals or _DEFAULT_INTERVALS
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await figures.count_decisions(tx, is_by_day=is_by_day, intervals=intervals)
        return Figures(rows=[_figure_row(row._asdict()) for row in rows])


def _figure_row(fields: dict[str, Any]) -> FigureRow:
    kind, status = f"SUBJECT_KIND_{fields['kind']}", f"MODERATION_STATUS_{fields['status']}"
    return FigureRow(**{**fields, "kind": kind, "status": status})
