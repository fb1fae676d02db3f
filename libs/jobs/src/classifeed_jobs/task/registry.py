"""Registry of tasks by name, with their handlers and options."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from classifeed_jobs.model.retry import Backoff, Linear
from classifeed_jobs.model.task import Kind, OnFailed, Task

if TYPE_CHECKING:
    from pydantic import BaseModel

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Registry(Mapping[str, Task]):
    """Tasks by name. `classifeed_jobs.register` fills the default registry."""

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
        """Decorate a function `f(ctx, args)` as the handler of a task: a coroutine, a sync function, or a generator.

        The annotation of `args` is a pydantic model, by which they are validated, or dict. For handlers without an
        annotation, use the option `args`. See `Task` for the other options.

        Raises:
            ValueError: The name is already registered.
            TypeError: The handler does not have two parameters, or the annotation of `args` has another type.
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
    if isinstance(annotation, type) and hasattr(annotation, "model_validate"):
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
