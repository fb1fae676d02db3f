"""PostgreSQL for every service: a small pool, named SQL, shared tables and migrations inside the wheel (ADR 0003)."""

from __future__ import annotations

from classifeed_common.db.connection import ResponseLost, Tx, after_commit
from classifeed_common.db.database import Database
from classifeed_common.db.faults import is_passing_fault
from classifeed_common.db.queries import Queries, load_queries
from classifeed_common.db.rows import fetch_as, fetch_named, rows_of
from classifeed_common.db.shared_ddl import ddl

__all__ = [
    "Database",
    "Queries",
    "ResponseLost",
    "Tx",
    "after_commit",
    "ddl",
    "fetch_as",
    "fetch_named",
    "is_passing_fault",
    "load_queries",
    "rows_of",
]
