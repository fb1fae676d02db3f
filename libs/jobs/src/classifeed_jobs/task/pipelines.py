"""Import of the modules that register tasks, which DL_PIPELINE_MODULES names."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from classifeed_jobs.task.registry import Registry, registry


class PipelineError(Exception):
    """A module with tasks cannot be loaded; the message has its name and the reason."""


def load_pipelines(modules: Iterable[str]) -> Registry:
    """Import modules, which register their tasks, and return the default registry. Idempotent.

    Raises:
        PipelineError: A module is missing, or its import fails (duplicate task name, invalid annotations).
    """
    for name in modules:
        try:
            import_module(name)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise PipelineError(f"DL_PIPELINE_MODULES: module {name!r} cannot be loaded: {why}") from error
    return registry
