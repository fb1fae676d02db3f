"""Tasks: a handler, the options of its runs, and its failure hook."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from classifeed_common.db import Tx
from classifeed_jobs.model.retry import Backoff

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that completes as failed or canceled.

    Attributes:
        job_id: Id of the job.
        queue: Queue of the job.
        task: Task of the job.
        attempt: Number of the last attempt.
        outcome: failed, or canceled by an operator.
        reason: QUARANTINED, UNKNOWN_FAULTS or UNREADABLE; empty if the handler failed it, no attempts are left, or it
            was canceled.
        message: Explanation, stored with the job.
        incident: Id of the incident in the logs; empty unless the run ended with an unexpected exception.
    """

    job_id: UUID
    queue: str
    task: str
    attempt: int
    outcome: Literal["failed", "canceled"]
    reason: str
    message: str
    incident: str


Kind = Literal["coroutine", "generator", "function", "sync generator"]
OnFailed = Callable[[Tx, Any, FailedJob], Awaitable[None]]


class InvalidArgs(Exception):
    """The job's args do not fit its handler; a worker of another version may accept them."""


@dataclass(frozen=True, slots=True)
class Task:
    """A registered handler.

    Attributes:
        name: Name of the task.
        handler: Function that runs a job.
        kind: Kind of the handler: a coroutine, an async generator (each yield is a safe point), or a sync function or
            generator, which runs in a thread.
        args_model: Pydantic model of its second parameter; None if it takes the mapping unchanged.
        backoff: Back-off between attempts.
        max_run_s: Maximum seconds of a run; a longer run is cancelled and counts as a failed attempt. None for no
            limit. A thread is signalled to stop, which it notices at its next yield or `raise_if_stopped`.
        resumes: Whether a drain stops the run immediately, because the next run resumes from the checkpoint.
        max_unknown_faults: Number of exceptions after which the job fails (UNKNOWN_FAULTS), even if attempts are left.
            Transient exceptions (`classifeed_common.faults.passing`) are not counted. None for no limit.
        on_failed: Failure hook `(tx, args, job)`, called in the transaction that completes a job of this task as failed
            or canceled, in a worker, in a reaper, or for an operator. It must only write in `tx`. If it raises, the job
            is not completed.
    """

    name: str
    handler: Callable[..., Any]
    kind: Kind
    args_model: type[BaseModel] | None
    backoff: Backoff
    max_run_s: float | None
    resumes: bool
    max_unknown_faults: int | None = None
    on_failed: OnFailed | None = None

    @property
    def in_thread(self) -> bool:
        """Whether the handler runs in a thread, where it cannot be cancelled."""
        return self.kind in {"function", "sync generator"}

    def parse_args(self, raw: Mapping[str, Any]) -> Any:
        """Return the args in the type that the handler takes.

        Raises:
            InvalidArgs: The args do not fit; the message names each invalid field.
        """
        if self.args_model is None:
            return dict(raw)
        from pydantic import ValidationError  # only tasks with a model need pydantic

        try:
            return self.args_model.model_validate(raw)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'args'}: {e['msg']}" for e in error.errors())
            raise InvalidArgs(f"args of task {self.name!r} do not fit: {wrong}") from error
