"""Probe: queries the server, over a separate connection, about the sessions of other connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from classifeed_common.db.connection import shut_down
from classifeed_common.db.queries import load_queries

_SQL: Final = load_queries("classifeed_common.db", "probe.sql")
_READ: Final = _SQL["read_sessions"]
_END: Final = _SQL["end_sessions"]

CONNECT_S: Final = 3
LIMIT_S: Final = 5.0
_AGE_TOLERANCE_S: Final = 5.0

Row = dict[str, Any]


class Verdict(Enum):
    """The state of a session whose client has received nothing for a while."""

    WORKING = "the server works on it, or waits for a lock"
    LOST = "server and client wait for each other: a message between them was lost"
    UNKNOWN = "the server does not report its state"


@dataclass(frozen=True, slots=True)
class Session:
    """A row of pg_stat_activity.

    Attributes:
        pid: id of the server process.
        state: state as the server names it; None where this role may not see it.
        wait_event_type: kind of event that the process waits for; None: it does not wait.
        started_at: start of the process.
        changed_at: time of the last change of state.
        age_s: age of the process, in seconds.
        query: last statement that reached the process, without parameters, cut at 200 characters.
    """

    pid: int
    state: str | None
    wait_event_type: str | None
    started_at: datetime | None
    changed_at: datetime | None
    age_s: float
    query: str

    @property
    def verdict(self) -> Verdict:
        """The verdict on a client that waits for this session's response."""
        if self.state is None or self.state == "disabled":
            return Verdict.UNKNOWN
        if self.state.startswith("idle") or self.wait_event_type == "Client":
            return Verdict.LOST
        return Verdict.WORKING


class Pooled(Exception):
    """A pooler hides the server, so the process ids are not the server's."""


class Probe:
    """Connects for each query, with shorter timeouts than other connections.

    Args:
        dsn: connection string of the server.
        application_name: name in pg_stat_activity, with `probe` added.
    """

    def __init__(self, dsn: str, application_name: str) -> None:
        self._dsn = make_conninfo(
            dsn, application_name=f"{application_name} probe", connect_timeout=CONNECT_S, target_session_attrs="any"
        )
        self._hosts = str(conninfo_to_dict(dsn).get("host") or "")

    @asynccontextmanager
    async def open(self, info: psycopg.ConnectionInfo) -> AsyncIterator[Asking]:
        """Connect to the server to which `info` belongs.

        Raises:
            psycopg.OperationalError: the server cannot be reached, or accepts no more connections.
            TimeoutError: no connection within 5 s.
        """
        dsn = make_conninfo(self._dsn, host=info.host, port=info.port) if "," in self._hosts else self._dsn
        async with asyncio.timeout(LIMIT_S):
            connection = await psycopg.AsyncConnection[Row].connect(dsn, autocommit=True, row_factory=dict_row)
        try:
            yield Asking(connection)
        finally:
            await connection.close()


class Asking:
    """A connected probe."""

    def __init__(self, connection: psycopg.AsyncConnection[Row]) -> None:
        self._connection = connection

    async def sessions(self, ages_s: Mapping[int, float]) -> dict[int, Session]:
        """Return the sessions with these process ids; ended ones are left out.

        Args:
            ages_s: minimum age of the session in seconds, by process id: the id of an ended process may be reused.

        Raises:
            Pooled: a pooler hides the server's process ids.
            psycopg.OperationalError: no response within 5 s.
        """
        rows = await self._fetch(_READ, {"pids": list(ages_s)})
        own = next(row for row in rows if row.pop("is_probe"))
        if own["pid"] != self._connection.info.backend_pid:
            raise Pooled
        found = [_session_of(row) for row in rows if row["pid"] in ages_s]
        return {each.pid: each for each in found if each.age_s >= ages_s[each.pid] - _AGE_TOLERANCE_S}

    async def end(self, sessions: Collection[Session]) -> set[int]:
        """End the sessions whose state has not changed since it was read, and return their process ids.

        Raises:
            psycopg.OperationalError: no response within 5 s.
        """
        parameters = {
            "pids": [each.pid for each in sessions],
            "starts": [each.started_at for each in sessions],
            "changes": [each.changed_at for each in sessions],
        }
        return {row["pid"] for row in await self._fetch(_END, parameters)} if sessions else set()

    async def _fetch(self, query: str, parameters: Mapping[str, object]) -> Sequence[Row]:
        timer = asyncio.get_running_loop().call_later(LIMIT_S, shut_down, self._connection)
        try:
            return await (await self._connection.execute(query, parameters)).fetchall()
        finally:
            timer.cancel()


def _session_of(row: Row) -> Session:
    return Session(
        row["pid"],
        row["state"],
        row["wait_event_type"],
        row["backend_start"],
        row["state_change"],
        row["age_s"] or 0.0,
        " ".join((row["query"] or "").split()),
    )
