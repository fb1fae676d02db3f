"""Registry: task names, their handlers, and how each is to be run."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from classifeed_common.db import Tx
from classifeed_jobs.backoff import Backoff, Linear
from classifeed_jobs.failure_hooks import FailedJob

Kind = Literal["coroutine", "generator", "function", "sync generator"]
OnFailed = Callable[[Tx, Any, FailedJob], Awaitable[None]]
Handler = TypeVar("Handler", bound=Callable[..., Any])


class InvalidArgs(Exception):
    """The job's args do not fit its handler; no other attempt will."""


@dataclass(frozen=True, slots=True)
class Task:
    """A registered handler.

    Attributes:
        kind: a coroutine, an async generator (each yield is a safe point), or a sync function or generator (in a
            thread).
        args_model: the pydantic model of its second parameter; None: it takes the mapping as it is.
        backoff: the wait before another attempt.
        max_run_s: a run that takes longer is cancelled and counts as a failed attempt; None: no bound. In a
            thread it is told to stop, which it hears at its next yield or `raise_if_stopped`.
        resumes: on drain the run is stopped at once instead of being given time to end: it goes on from its checkpoint.
        max_unknown_faults: the job fails (UNKNOWN_FAULTS) after so many exceptions that do not pass by themselves
            (`classifeed_common.passing`), whatever attempts it has left; those that pass are not counted. None: never.
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
        """The args as the handler wants them.

        Raises:
            InvalidArgs: they do not fit, with each wrong field.
        """
        if self.args_model is None:
            return dict(raw)
        try:
            return self.args_model.model_validate(raw)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'args'}: {e['msg']}" for e in error.errors())
            raise InvalidArgs(f"args of task {self.name!r} do not fit: {wrong}") from error


class Registry(Mapping[str, Task]):
    """Tasks by name. `classifeed_jobs.register` fills the default one."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    def register(
        self,
        name: str,
        *,
        backoff: Backoff | None = None,
        max_run_s: float | None = None,
        resumes: bool = False,
        max_unknown_faults: int | None = None,
        on_failed: OnFailed | None = None,
        args: type[BaseModel] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Decorator: make `async def f(ctx, args)`, an async generator, a plain function or generator the handler of a
        task.

        The annotation of `args` says how they are checked: a pydantic model, or dict; the option `args` says it instead
        for handlers without one. See `Task` for the other options.

        Raises:
            ValueError: the name is taken.
            TypeError: the handler has not the two parameters, or `args` is annotated otherwise.
        """

        def add(handler: Handler) -> Handler:
            if name in self._tasks:
                raise ValueError(f"task {name!r} is registered twice, by {self._tasks[name].handler} and {handler}")
            self._tasks[name] = Task(
                name,
                handler,
                _kind_of(handler),
                args or _args_model(name, handler),
                backoff or Linear(),
                max_run_s,
                resumes,
                max_unknown_faults,
                on_failed,
            )
            return handler

        return add

    def __getitem__(self, name: str) -> Task:
        return self._tasks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


def _kind_of(handler: Callable[..., Any]) -> Kind:
    if inspect.isasyncgenfunction(handler):
        return "generator"
    if inspect.isgeneratorfunction(handler):
        return "sync generator"
    return "coroutine" if inspect.iscoroutinefunction(handler) else "function"


def _args_model(name: str, handler: Callable[..., Any]) -> type[BaseModel] | None:
    parameters = list(inspect.signature(handler).parameters.values())
    if len(parameters) != 2:
        raise TypeError(f"the handler of task {name!r} takes (ctx, args), not {len(parameters)} parameters")
    annotation = parameters[1].annotation
    if isinstance(annotation, str):
        annotation = eval(annotation, vars(sys.modules[handler.__module__]))  # noqa: S307 - the handler's own source
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if annotation in (dict, Mapping) or typing.get_origin(annotation) in (dict, Mapping):
        return None
    raise TypeError(
        f"the handler of task {name!r} must annotate args with a pydantic model or dict[str, Any], not {annotation!r}"
    )


registry = Registry()
"""The default registry."""

register = registry.register
"""Decorator that registers in the default registry; see `Registry.register`."""
