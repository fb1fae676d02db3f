"""Verdicts of the verdict service over gRPC."""

from __future__ import annotations

from collections.abc import Callable

from classifeed.moderation.v1.moderation_service_pb2 import ApplyVerdictsRequest, ApplyVerdictsResponse
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_moderation.app.decisions.apply_verdicts import Arrived, apply_verdicts
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.rpc.messages import decision_message, verdicts_of
from classifeed_moderation.store import decisions


class VerdictMethods:
    """Applies verdicts as the callback does."""

    def __init__(self, database: Database, deciding: Deciding, *, on_due: Callable[[], None]) -> None:
        self._database = database
        self._deciding = deciding
        self._on_due = on_due

    async def ApplyVerdicts(self, request: ApplyVerdictsRequest, context: Context) -> ApplyVerdictsResponse:
        """Apply verdicts to their texts."""
        arrived = [Arrived(text.key, verdicts_of(text.verdicts, has_end=text.has_end)) for text in request.texts]
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            applied = await apply_verdicts(tx, arrived, self._deciding)
            rows = [await decisions.find_decision(tx, item.decision_id) for item in applied.recorded]
        self._deciding.outbox.wake()
        if applied.is_due:
            self._on_due()
        return ApplyVerdictsResponse(
            decisions=[decision_message(row) for row in rows], unknown_keys=applied.unknown_keys
        )
