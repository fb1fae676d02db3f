"""Decoding of stored JSON, value by value: an unreadable value does not fail a read of many jobs (ADR 0093)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from json import JSONDecoder
from typing import Any, Final

from classifeed_jobs.model.job import Job
from classifeed_jobs.model.storable import find_fault

UNREADABLE: Final = "UNREADABLE"
"""Reason of a job that cannot be read, or that was set aside."""
_DECODE: Final = JSONDecoder().decode


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Placeholder for a stored value that Python cannot read, such as a number of 5,000 digits; `why` is the error."""

    why: str


def read_json(data: str | bytes | None) -> Any:
    """Return a stored JSON value, an `Unreadable` if it cannot be decoded, or None for NULL."""
    if data is None:
        return None
    try:
        return _DECODE(str(data, "utf-8") if isinstance(data, bytes) else data)
    except (ValueError, RecursionError) as error:
        return Unreadable(str(error) or type(error).__name__)


def job_of(row: Any) -> Job:
    """Return a job from a row with the columns of `get_job`; see `JobStore.get`."""
    values = row._asdict()
    for name in ("args", "progress", "checkpoint", "result"):
        values[name] = read_json(values[name])
    shown = {name: values[name] for name in ("args", "progress", "result")}
    damage = find_damage(**shown | {"args": shown["args"] or {}}, checkpoint=values["checkpoint"]) or _find_fault(shown)
    if damage is not None:
        values["reason"] = values["reason"] or UNREADABLE
        values["error"] = values["error"] or damage
    for name, value in (*shown.items(), ("checkpoint", values["checkpoint"])):
        if isinstance(value, Unreadable) or (name != "checkpoint" and find_fault(value) is not None):
            values[name] = None
    if not isinstance(values["args"], dict):
        values["args"] = {}
    if not isinstance(values["progress"], dict):
        values["progress"] = None
    return Job(**values)


def _find_fault(values: Mapping[str, Any]) -> str | None:
    faults = ((name, find_fault(value)) for name, value in values.items() if not isinstance(value, Unreadable))
    return next((f"its {name} {fault}" for name, fault in faults if fault is not None), None)


def find_damage(**values: Any) -> str | None:
    """Return the first of a job's values that cannot be used, with the reason; None if all can be used.

    Args:
        values: Values by name, read by `read_json`; `args` must be an object.
    """
    for name, value in values.items():
        if isinstance(value, Unreadable):
            return f"its {name} cannot be read: {value.why}"
        if name == "args" and not isinstance(value, dict):
            return f"its args are no JSON object but {type(value).__name__}"
    return None
