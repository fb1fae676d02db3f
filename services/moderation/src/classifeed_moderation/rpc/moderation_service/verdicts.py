"""Verdicts of the verdict service over gRPC."""

from __future__ import annotations

from collections.abc import Callable

from classifeed.moderation.v1.moderation_service_pb2 import ApplyVerdictsRequest, ApplyVerdictsResponse
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.outbox import Outbox
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_moderation.app.decisions.apply_verdicts import Arrived, Rules, apply_verdicts
from classifeed_moderation.rpc.messages import decision_message, read_verdicts
from classifeed_moderation.store import decisions


class Verdicts:
    """Applies verdicts as the callback does."""

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        clock: Clock,
        *,
        current_rules: Callable[[], Rules],
        on_due: Callable[[], None],
    ) -> None:
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._current_rules = current_rules
        self._on_due = on_due

    async def ApplyVerdicts(self, request: ApplyVerdictsRequest, context: Context) -> ApplyVerdictsResponse:
        """Apply verdicts to their texts."""
        arrived = [Arrived(text.key, read_verdicts(text.verdicts, has_end=text.has_end)) for text in request.texts]
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            applied = await apply_verdicts(
                tx, arrived, rules=self._current_rules(), outbox=self._outbox, decided_at=self._clock.now()
            )
            rows = [await decisions.find_decision(tx, item.decision_id) for item in applied.recorded]
        self._outbox.wake()
        if applied.is_due:
            self._on_due()
        return ApplyVerdictsResponse(
            decisions=[decision_message(row) for row in rows], unknown_keys=applied.unknown_keys
        )
