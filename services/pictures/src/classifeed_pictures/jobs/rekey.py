"""The job `pictures.rekey`: moves pictures whose keys the rules in force no longer make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Cursor, Exponential, JobContext, Registry, Schedule, Slice, SliceJob
from classifeed_pictures.app.states.find_states import Rules
from classifeed_pictures.app.states.rekey_states import rekey_states

TASK: Final = "pictures.rekey"
_STATES: Final = 500


class NoArgs(BaseModel):
    """No arguments: the job checks everything."""


@dataclass(frozen=True, slots=True)
class RekeyJob:
    """Passes over all states after the rules have changed, until a pass finds nothing; one run at a time.

    Attributes:
        outbox: outbox for the notices.
        canonical_rules: returns the rules of canonical URLs.
        every_s: seconds between two checks of the rules, and between two passes.
        settle_s: seconds for which rules must be in force before a pass that finds nothing is the last one.
        order_timeout_s: seconds after which an order without a result counts as lost.
    """

    outbox: Outbox
    canonical_rules: Rules
    every_s: int
    settle_s: float
    order_timeout_s: float

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """Schedule of the job. The job does nothing if the last pass with the same rules found nothing."""
        return Schedule(TASK, queue=TASK, task=TASK, lock_key=TASK, every_s=self.every_s, missed="skip")

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        registry = Registry()

        async def rekey(tx: Tx, _args: NoArgs, cursor: Cursor | None, _ctx: JobContext) -> Slice:
            return await rekey_states(
                tx,
                cursor,
                self.canonical_rules(),
                outbox=self.outbox,
                limit=_STATES,
                settle_s=self.settle_s,
                order_timeout_s=self.order_timeout_s,
            )

        registry.register(TASK, args=NoArgs, backoff=Exponential(first_s=1, cap_s=60), resumes=True)(
            SliceJob(rekey).run
        )
        return registry
