"""Classification of database errors as passing or permanent."""

from __future__ import annotations

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

_PASSING_CLASSES = ("08", "40", "53", "57")  # connection, rollback, resources, operator intervention
_LOCK_NOT_AVAILABLE = "55P03"
_IDLE_IN_TRANSACTION = "25P03"
_UNTRANSLATABLE = "22P05"


def is_passing_fault(error: BaseException) -> bool:
    """Return whether a retry of the same transaction may succeed: server away, deadlock, timeout, no resources.

    A wrong statement, a violated constraint and a wrong value stay wrong: False. Faults that do not come from the
    database are False too.
    """
    if isinstance(error, PoolClosed):
        return False
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)  # the connection broke, so the server sent no code
    return error.sqlstate[:2] in _PASSING_CLASSES or error.sqlstate in (_LOCK_NOT_AVAILABLE, _IDLE_IN_TRANSACTION)


def is_unstorable_text(error: BaseException) -> bool:
    """Return whether a text was sent that PostgreSQL cannot store: with a NUL, or with half a surrogate."""
    if isinstance(error, UnicodeEncodeError):
        return error.reason == "surrogates not allowed"
    if not isinstance(error, psycopg.DataError):
        return False
    if error.sqlstate is None:
        return "NUL (0x00)" in str(error)  # raised by psycopg, before anything was sent
    return error.sqlstate == _UNTRANSLATABLE
