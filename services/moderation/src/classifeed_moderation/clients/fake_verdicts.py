"""Replacements of the verdict service in this process: generated verdicts for load tests, and no verdicts."""

from __future__ import annotations

import random
from collections.abc import Sequence

from classifeed_common.clock import Clock
from classifeed_moderation.clients.verdict_service import CloseOutcome, Outcome, Response
from classifeed_moderation.domain.subjects import Task
from classifeed_moderation.domain.verdicts import Verdict, VerdictList

_FORBIDDEN = VerdictList((Verdict("text_auto_obscene", source="fake"),), has_end=True)
_CLEAN = VerdictList(has_end=True)


class NoVerdicts:
    """The environment `load`: no request is made, and every text waits."""

    async def request(self, tasks: Sequence[Task]) -> list[Response]:
        """Return that the service is unreachable."""
        return [Response(Outcome.UNREACHABLE, fault="the environment load makes no requests")] * len(tasks)

    async def close_reviews(self, sent_keys: Sequence[str]) -> tuple[CloseOutcome, str]:  # noqa: ARG002 - as the others
        """Return that there is no such method: there are no reviews."""
        return CloseOutcome.UNKNOWN, "no reviews"

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class FakeVerdicts(NoVerdicts):
    """Generates verdicts after a delay, in fixed shares; makes no request.

    Args:
        clock: clock of the delay.
        delay_s: seconds until a verdict.
        forbidden_percent: share of texts that are refused.
        people_percent: share of texts that go to simulated people, who never respond.
        failed_percent: share of simulated requests that fail.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        delay_s: float = 0.2,
        forbidden_percent: int = 5,
        people_percent: int = 0,
        failed_percent: int = 0,
    ) -> None:
        self._clock = clock
        self._delay_s = delay_s
        shares = [
            (forbidden_percent, Response(Outcome.VERDICTS, _FORBIDDEN)),
            (people_percent, Response(Outcome.PEOPLE)),
            (failed_percent, Response(Outcome.FAULT, fault="generated")),
        ]
        taken = sum(percent for percent, _ in shares)
        if taken > 100:
            raise ValueError(f"the shares of generated verdicts are {taken} % together; they may be 100 % at most")
        self._weights = [*(percent for percent, _ in shares), 100 - taken]
        self._responses = [*(response for _, response in shares), Response(Outcome.VERDICTS, _CLEAN)]

    async def request(self, tasks: Sequence[Task]) -> list[Response]:
        """Return generated responses; the same text always gets the same response."""
        await self._clock.sleep(self._delay_s)
        chosen = [random.Random(task.text_hash) for task in tasks]  # noqa: S311 - no secret
        return [each.choices(self._responses, self._weights)[0] for each in chosen]
