"""ConnectionWatch: finds out whether the server works on a silent statement, or its response was lost (ADR 0029)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final

import structlog

from classifeed_common.db.connection import WatchedConnection
from classifeed_common.db.conninfo import UNANSWERED_S
from classifeed_common.db.probe import Asking, Pooled, Probe, Session, Verdict
from classifeed_common.errors import name_fault
from classifeed_common.telemetry.metrics import DB_DEAD_CONNECTIONS, DB_UNANSWERED_PROBES

_log = structlog.get_logger(__name__)


TICK_S: Final = 1.0
PROBE_TICKS: Final = 6
SUSPECT_TICKS: Final = 2
_GRACE_S: Final = 1.0


@dataclass(slots=True)
class _Silence:
    """The duration of a silent wait, in ticks: time in which this process was stopped does not count."""

    activity: int
    ticks: int = 0
    next_probe: int = 0


class ConnectionWatch:
    """Watches the statements of all connections that it adopts, for one event loop.

    If a statement is silent for 6 s, the watch queries the server over a new connection about the session. If the
    session works on the statement or waits for a lock, the wait continues without a limit, and the server is queried
    again. If the session waits for the client, the watch cuts the connection and ends the session, whose locks would
    block the next attempt. If the server gives no response, the wait continues for `unanswered_s`, so that a short
    pause of the server fails nothing. At most one probe runs at a time.

    After a dead connection, connections that have not responded since are suspect: they are probed after 2 s.

    Args:
        probe: queries the server; None: process ids are a pooler's, so only `unanswered_s` ends a wait.
        schema: name for logs and metrics.
        unanswered_s: seconds that a statement may be silent for an unknown reason.
        on_dead: called after connections were cut, to close the idle ones.
    """

    def __init__(
        self,
        probe: Probe | None,
        *,
        schema: str,
        unanswered_s: float = UNANSWERED_S,
        on_dead: Callable[[], Awaitable[None]],
    ) -> None:
        self.generation = 0
        self._probe = probe
        self._schema = schema
        self._unanswered_ticks = max(1, round(unanswered_s / TICK_S))
        self._on_dead = on_dead
        self._waiting: set[WatchedConnection] = set()
        self._silences: dict[WatchedConnection, _Silence] = {}
        self._left: dict[int, float] = {}  # times when suspect connections were opened, by pid of their sessions
        self._timer: asyncio.TimerHandle | None = None
        self._probing: asyncio.Task[None] | None = None
        self._is_silent = False

    def adopt(self, connection: WatchedConnection) -> None:
        """Register a new connection."""
        connection.generation = self.generation
        connection.opened_s = asyncio.get_running_loop().time()

    def begin(self, connection: WatchedConnection) -> None:
        """Start to watch a wait. Called for each statement, so it must be cheap."""
        self._waiting.add(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def end(self, connection: WatchedConnection) -> None:
        """Stop watching."""
        self._waiting.discard(connection)

    def release(self, connection: WatchedConnection) -> None:
        """Register that a connection is about to be closed. If it is suspect, its session is ended later."""
        if connection.generation != self.generation:
            self._left[connection.info.backend_pid] = connection.opened_s

    async def close(self) -> None:
        """Cancel the probe under way. Statements that still run stay watched."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])

    def _tick(self) -> None:
        self._silences = {each: self._silence_of(each) for each in self._waiting if each.is_executing}
        # Without a waiting statement the timer stops; the next statement starts it again.
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK_S, self._tick) if self._waiting else None
        for connection, silence in self._silences.items():
            if silence.ticks >= self._unanswered_ticks:
                self._cut(connection, silence, "the server does not report what it does with it")
        if not self._silences:
            self._is_silent = False
        if self._probe is None or self._probing is not None:
            return
        if any(silence.ticks >= silence.next_probe for silence in self._silences.values()):
            self._probing = loop.create_task(self._examine(self._probe), name=f"probe of {self._schema}")

    def _silence_of(self, connection: WatchedConnection) -> _Silence:
        silence = self._silences.get(connection)
        if silence is None or silence.activity != connection.activity:
            is_suspect = connection.generation != self.generation
            return _Silence(connection.activity, 0, SUSPECT_TICKS if is_suspect else PROBE_TICKS)
        silence.ticks += 1
        return silence

    def _still_silent(self, connection: WatchedConnection, silence: _Silence) -> bool:
        return connection in self._waiting and connection.activity == silence.activity

    async def _examine(self, probe: Probe) -> None:
        # Examine all connections that have been silent for a while: they would be due soon.
        silences = {each: silence for each, silence in self._silences.items() if silence.ticks >= SUSPECT_TICKS}
        try:
            async with probe.open(next(iter(silences)).info) as asking:
                self._note_response()
                if await self._judge(asking, silences):
                    await self._on_dead()
                    await self._end_left(asking)
        except Pooled:
            _log.info("db.probe.pooled", schema=self._schema, limit_s=self._unanswered_ticks * TICK_S)
            self._probe = None
        except Exception as error:  # noqa: BLE001 - the watch must survive any error
            self._note_no_response(silences.values(), error)
        finally:
            for silence in silences.values():
                silence.next_probe = silence.ticks + PROBE_TICKS
            self._probing = None

    async def _judge(self, asking: Asking, silences: dict[WatchedConnection, _Silence]) -> bool:
        """Cut the connections whose response was lost; return whether there were any."""
        now_s = asyncio.get_running_loop().time()
        pids = {each.info.backend_pid: each for each in silences}
        sessions = await asking.sessions({pid: now_s - each.opened_s for pid, each in pids.items()})
        suspects: dict[WatchedConnection, Session | None] = {}
        for pid, connection in pids.items():
            session = sessions.get(pid)
            verdict = session.verdict if session else Verdict.LOST
            if verdict is Verdict.WORKING:
                silences[connection].ticks = 0
            elif verdict is Verdict.LOST:
                suspects[connection] = session
        if not suspects:
            return False
        await asyncio.sleep(_GRACE_S)  # a response or a statement may be on its way
        ended = await asking.end(
            [s for each, s in suspects.items() if s is not None and self._still_silent(each, silences[each])]
        )
        is_dead = False
        for connection, session in suspects.items():
            if (session is None or session.pid in ended) and self._still_silent(connection, silences[connection]):
                why = (
                    f"the session is {session.state} and waits for the client"
                    if session
                    else "the session no longer exists"
                )
                last_statement = session.query if session else None
                self._cut(connection, silences[connection], why, last_statement=last_statement)
                is_dead = True
        return is_dead

    def _cut(
        self, connection: WatchedConnection, silence: _Silence, why: str, *, last_statement: str | None = None
    ) -> None:
        silent_s = round(silence.ticks * TICK_S, 1)
        DB_DEAD_CONNECTIONS.labels(self._schema).inc()
        _log.warning(
            "db.connection.dead",
            schema=self._schema,
            pid=connection.info.backend_pid,
            silent_s=silent_s,
            why=why,
            statement=connection.statement,
            last_statement=last_statement,  # as seen by the server
        )
        self.generation += 1
        connection.cut(f"no response within {silent_s:g} s: {why}")

    async def _end_left(self, asking: Asking) -> None:
        """End the sessions of closed idle connections: the server may never notice the close."""
        left, self._left = self._left, {}
        if not left:
            return
        now_s = asyncio.get_running_loop().time()
        sessions = await asking.sessions({pid: now_s - opened_s for pid, opened_s in left.items()})
        await asking.end([each for each in sessions.values() if each.verdict is Verdict.LOST])

    def _note_response(self) -> None:
        if self._is_silent:
            _log.info("db.server.answers", schema=self._schema)
        self._is_silent = False

    def _note_no_response(self, silences: Collection[_Silence], error: Exception) -> None:
        DB_UNANSWERED_PROBES.labels(self._schema).inc()
        if not self._is_silent:
            longest_s = max(silence.ticks for silence in silences) * TICK_S
            _log.warning(
                "db.server.silent",
                schema=self._schema,
                statements=len(silences),
                silent_s=longest_s,
                error=name_fault(error),
            )
        self._is_silent = True
