"""Pipelines: the modules that register tasks, by the names in DL_PIPELINE_MODULES."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from classifeed_jobs.task.registry import Registry, registry


class PipelineError(Exception):
    """A module with tasks cannot be loaded; the message names it and says why."""


def load_pipelines(modules: Iterable[str]) -> Registry:
    """Return the default registry, once these modules have registered their tasks in it. Idempotent.

    Raises:
        PipelineError: a module is missing, or fails while it is imported (a name registered twice, wrong annotations).
    """
    for name in modules:
        try:
            import_module(name)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise PipelineError(f"DL_PIPELINE_MODULES: module {name!r} cannot be loaded: {why}") from error
    return registry
