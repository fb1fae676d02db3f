"""What is known of a task: its handler, how it is run, and what its jobs stand for."""

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
    """A job that ends without having done its work.

    Attributes:
        job_id: the job.
        queue: where it was.
        task: its task.
        attempt: which try was the last one.
        outcome: failed, or canceled by an operator.
        reason: QUARANTINED, UNKNOWN_FAULTS, UNREADABLE, or empty: by its handler, its attempts are used up, it was
            canceled.
        message: the same in words, as kept with the job.
        incident: what to look for in the logs; empty unless an exception that nobody foresaw was the last word.
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
    """The job's args do not fit its handler; a worker of another version may take them."""


@dataclass(frozen=True, slots=True)
class Task:
    """A registered handler.

    Attributes:
        kind: a coroutine, an async generator (each yield is a safe point), or a sync function or generator (in a
            thread).
        args_model: the pydantic model of its second parameter; None: it takes the mapping as it is.
        backoff: the wait before another attempt.
        max_run_s: a run that takes longer is cancelled and counts as a failed attempt; None: no bound. In a
            thread it is signalled to stop, which it notices at its next yield or `raise_if_stopped`.
        resumes: on drain the run is stopped at once instead of being given time to end: it goes on from its checkpoint.
        max_unknown_faults: the job fails (UNKNOWN_FAULTS) after so many exceptions that do not pass by themselves
            (`classifeed_common.faults.passing`), whatever attempts it has left. Those that pass are not counted. None:
            never.
        on_failed: `(tx, args, job)`, called in the transaction in which a job of this task ends failed or canceled,
            by whoever ends it: worker, reaper or operator. It must do nothing but write in `tx`. Raising keeps the job.
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
        """Whether it runs beside the event loop; nothing can be cancelled there."""
        return self.kind in {"function", "sync generator"}

    def parse_args(self, raw: Mapping[str, Any]) -> Any:
        """Return the args as the handler wants them.

        Raises:
            InvalidArgs: they do not fit, with each wrong field.
        """
        if self.args_model is None:
            return dict(raw)
        from pydantic import ValidationError  # imported by whoever has a model, and by nobody else

        try:
            return self.args_model.model_validate(raw)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'args'}: {e['msg']}" for e in error.errors())
            raise InvalidArgs(f"args of task {self.name!r} do not fit: {wrong}") from error
