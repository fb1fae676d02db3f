"""ConnectionWatch: finds out whether the server works on a statement that is silent, or waits for us (ADR 0029)."""

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
    """How long a wait has been silent, in ticks: time in which this process stood still is none."""

    activity: int
    ticks: int = 0
    next_probe: int = 0


class ConnectionWatch:
    """Looks after the statements of all connections that it adopts, for one event loop.

    A statement that has been silent for 6 s has the server queried, over a new connection, about what the session does.
    If it works on the statement or waits for a lock, the wait goes on, however long, and the server is queried again.
    If it waits for us, the connection is cut and the session is ended: its locks would be in the way of the next
    attempt. Without a response the wait goes on for `unanswered_s`: a server that stands still for a while fails
    nothing. One probe at most is under way.

    After a dead connection those that have not responded since are suspect: they are probed after 2 s.

    Args:
        probe: queries the server; None: process ids are a pooler's, so only `unanswered_s` ends a wait.
        schema: for logs and metrics.
        unanswered_s: how long a statement may be silent for an unknown reason.
        on_dead: called after connections were cut; closes those that are idle.
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
        self._left: dict[int, float] = {}  # sessions whose connections were closed unheard: when those were opened
        self._timer: asyncio.TimerHandle | None = None
        self._probing: asyncio.Task[None] | None = None
        self._is_silent = False

    def adopt(self, connection: WatchedConnection) -> None:
        """Take note of a new connection."""
        connection.generation = self.generation
        connection.opened_s = asyncio.get_running_loop().time()

    def begin(self, connection: WatchedConnection) -> None:
        """Watch a wait. Called for each statement: it has to cost nothing."""
        self._waiting.add(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def end(self, connection: WatchedConnection) -> None:
        """Watch it no longer."""
        self._waiting.discard(connection)

    def release(self, connection: WatchedConnection) -> None:
        """Take note that a connection is about to be closed. If it is suspect, its session is ended later."""
        if connection.generation != self.generation:
            self._left[connection.info.backend_pid] = connection.opened_s

    async def close(self) -> None:
        """End the probe under way. Statements that still run go on to be watched."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])

    def _tick(self) -> None:
        self._silences = {each: self._silence_of(each) for each in self._waiting if each.is_executing}
        # Once nobody waits, the next statement starts the clock again.
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
        # Others will be due soon: whoever has been silent for a while is judged along.
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
        except Exception as error:  # noqa: BLE001 - whatever it is, the watch goes on
            self._note_no_response(silences.values(), error)
        finally:
            for silence in silences.values():
                silence.next_probe = silence.ticks + PROBE_TICKS
            self._probing = None

    async def _judge(self, asking: Asking, silences: dict[WatchedConnection, _Silence]) -> bool:
        """Cut the connections that wait in vain; return whether there were any."""
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
        await asyncio.sleep(_GRACE_S)  # a response may be on its way, or the statement
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
            last_statement=last_statement,  # that the server has seen
        )
        self.generation += 1
        connection.cut(f"no response within {silent_s:g} s: {why}")

    async def _end_left(self, asking: Asking) -> None:
        """End the sessions of idle connections that were closed: the server may never hear of it."""
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
