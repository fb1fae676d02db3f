"""Deciding: records and reports decisions, by the current rules and the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from classifeed_common.clock import Clock
from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_common.snapshot import Loaded
from classifeed_moderation.app.decisions.report_decisions import report_decisions
from classifeed_moderation.domain.decisions import Decision, Maker
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.store import decisions
from classifeed_moderation.store.decisions import Recorded

# The current rules, with the version of their file.
Rules: TypeAlias = Loaded[RuleSet]


@dataclass(frozen=True, slots=True)
class Deciding:
    """What every decision needs.

    Attributes:
        outbox: sends decisions.
        clock: clock for the time of decisions.
        current_rules: returns the current rules.
    """

    outbox: Outbox
    clock: Clock
    current_rules: Callable[[], Rules]

    async def record(
        self, tx: Tx, made: Sequence[Decision], *, maker: Maker, rule_set: str = "", reviewer: str = ""
    ) -> list[Recorded]:
        """Record decisions about locked texts, one for each, and report them."""
        recorded = await decisions.record(
            tx, made, rule_set=rule_set, maker=maker, reviewer=reviewer, decided_at=self.clock.now()
        )
        await report_decisions(tx, self.outbox, recorded)
        return recorded
