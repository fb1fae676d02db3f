"""Faults in the log: one that passes is a line, one that nobody foresaw has its traceback."""

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
    """Log a fault that whoever works waits out.

    What passes by itself, or has a message of ours (`DomainError`), is a warning in one line: nothing is wrong with
    the code, and a database that restarts is no news for each thing that waits for it. Anything else is a fault of the
    code: an error with its traceback.

    Args:
        log: logger of the module.
        event: what did not work.
        error: why.
        retry_in_s: when it is tried again, in seconds, where that is known.
        is_repeated: it failed before and was logged then: no second traceback.
        noted_in: of the same work, for `Role.blocked`; it says whether it failed before, and keeps this fault, too.
        fields: what the line says besides.
    """
    if noted_in is not None:
        is_repeated = noted_in.attempts > 0
        noted_in.note(error)
    if retry_in_s is not None:
        fields["retry_in_s"] = round(retry_in_s, 3)
    is_foreseen = isinstance(error, DomainError) or is_passing(error)
    write = log.warning if is_foreseen else log.error
    write(event, error=name_fault(error), exc_info=None if is_foreseen or is_repeated else error, **fields)
