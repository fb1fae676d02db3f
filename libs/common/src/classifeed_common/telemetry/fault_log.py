"""Faults in the log: one line for a passing fault, a traceback for an unforeseen one."""

from __future__ import annotations

from typing import Any

from structlog.typing import FilteringBoundLogger

from classifeed_common.errors import DomainError, name_fault
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.faults.passing import is_passing


def log_fault(
    log: FilteringBoundLogger,
    event: str,
    error: BaseException,
    *,
    retry_in_s: float | None = None,
    is_repeated: bool = False,
    noted_in: LastingFault | None = None,
    **fields: Any,
) -> None:
    """Log a fault after which the work continues.

    A passing fault, or one with our own message (`DomainError`), is a warning in one line: the code is right, and a
    restarting database would otherwise fill the log. Any other fault is a bug: an error with its traceback.

    Args:
        log: logger of the module.
        event: name of the event.
        error: the fault.
        retry_in_s: seconds until the next attempt, if known.
        is_repeated: whether the fault was logged before; a second traceback is left out.
        noted_in: fault record of the same work, for `Role.blocked`. It tells whether the work failed before, and also
            stores this fault.
        fields: further fields of the line.
    """
    if noted_in is not None:
        is_repeated = noted_in.attempts > 0
        noted_in.note(error)
    if retry_in_s is not None:
        fields["retry_in_s"] = round(retry_in_s, 3)
    is_foreseen = isinstance(error, DomainError) or is_passing(error)
    write = log.warning if is_foreseen else log.error
    write(event, error=name_fault(error), exc_info=None if is_foreseen or is_repeated else error, **fields)
