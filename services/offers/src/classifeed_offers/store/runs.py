"""Runs as parameters of statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from classifeed_offers.domain.admission import RunKey


def run_values(key: RunKey) -> dict[str, Any]:
    """Return the parameters seller, namespace, task and run."""
    return {
        "seller": key.namespace.seller_id,
        "namespace": key.namespace.namespace,
        "task": key.run.task_id,
        "run": key.run.run,
    }


def run_columns(runs: Iterable[RunKey]) -> dict[str, Any]:
    """Return the parameters sellers, namespaces, tasks and runs: a list each."""
    keys = list(runs)
    return {
        "sellers": [key.namespace.seller_id for key in keys],
        "namespaces": [key.namespace.namespace for key in keys],
        "tasks": [key.run.task_id for key in keys],
        "runs": [key.run.run for key in keys],
    }
