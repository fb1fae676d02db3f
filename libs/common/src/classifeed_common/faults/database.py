"""Which database errors pass by themselves and which do not."""

from __future__ import annotations

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

_PASSING_CLASSES = ("08", "40", "53", "57")  # connection, rollback, resources, operator intervention
_LOCK_NOT_AVAILABLE = "55P03"
_IDLE_IN_TRANSACTION = "25P03"
_UNTRANSLATABLE = "22P05"


def is_passing_fault(error: BaseException) -> bool:
    """Return true when doing the same transaction again later may succeed: server away, deadlock, time-out, no
    resources.

    A wrong statement, a violated constraint or a wrong value stays wrong: False. Faults of anything else than the
    database are False too.
    """
    if isinstance(error, PoolClosed):
        return False
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)  # the connection broke: the server could say nothing
    return error.sqlstate[:2] in _PASSING_CLASSES or error.sqlstate in (_LOCK_NOT_AVAILABLE, _IDLE_IN_TRANSACTION)


def is_unstorable_text(error: BaseException) -> bool:
    """Return true when a text was sent to the database that PostgreSQL keeps in no column: with a NUL, or half a
    surrogate.
    """
    if isinstance(error, UnicodeEncodeError):
        return error.reason == "surrogates not allowed"
    if not isinstance(error, psycopg.DataError):
        return False
    if error.sqlstate is None:
        return "NUL (0x00)" in str(error)  # psycopg itself, before anything was sent
    return error.sqlstate == _UNTRANSLATABLE
