"""The event log and its statistics."""

from __future__ import annotations

from typing import Final

from classifeed.moderation.v1.moderation_service_pb2 import (
    FIGURE_INTERVAL_DAY,
    FigureRow,
    Figures,
    GetFiguresRequest,
    ListEventsRequest,
    ListEventsResponse,
)
from classifeed_common.db import Database, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_moderation.rpc.messages import decision_message
from classifeed_moderation.store import decisions

_SQL: Final = load_queries("classifeed_moderation.store", "figures.sql")
_DEFAULT_PAGE_DECISIONS: Final = 100
_DEFAULT_INTERVALS: Final = 24


class Events:
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
        parameters = {
            "interval": "day" if is_by_day else "hour",
            "hours": 24 if is_by_day else 1,
            "intervals": request.intervals or _DEFAULT_INTERVALS,
        }
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await fetch_named(tx, _SQL["count_decisions"], parameters)
        return Figures(
            rows=[
                FigureRow(
                    begin_s=row.begin_s,
                    kind=f"SUBJECT_KIND_{row.kind}",
                    status=f"MODERATION_STATUS_{row.status}",
                    dimension=row.dimension,
                    value=row.value,
                    decisions=row.decisions,
                    automatic=row.automatic,
                    wait_p50_s=row.wait_p50_s,
                    wait_p99_s=row.wait_p99_s,
                )
                for row in rows
            ]
        )
