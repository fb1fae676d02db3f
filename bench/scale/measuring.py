"""One measurement: a span of time with the CPU of the role and the servers, and the wait events of backends."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import psycopg

from bench.scale.installation import Installation, Worker, cpu_of

_SAMPLE_EVERY_S: Final = 0.05
_LIMIT_S: Final = 600.0
NOBODY: Final[Mapping[str, Sequence[Worker]]] = {}
_ACTIVE: Final = """
SELECT coalesce(wait_event_type, 'running'), coalesce(wait_event, '')
FROM pg_stat_activity
WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()
"""


@dataclass(slots=True)
class Span:
    """Figures of a role's processes with a backlog.

    Attributes:
        offers: number of offers.
        seconds: seconds from the start with the complete backlog.
        cpu_us: CPU in µs an offer: `role`, `postgres`, `kafka`, and other services that take part.
        waits: samples of active backends by wait event; `running` is no wait.
        wal_bytes: bytes of the write-ahead log an offer.
    """

    offers: int
    seconds: float = 0.0
    cpu_us: dict[str, float] = field(default_factory=dict)
    waits: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    wal_bytes: float = 0.0

    @property
    def rate(self) -> float:
        """Offers a second."""
        return self.offers / self.seconds

    def share(self, kind: str) -> float:
        """Return the share of samples of active backends that waited for a type of event."""
        return self.waits[kind] / max(1, self.waits.total())


@contextmanager
def measured(
    running: Installation, offers: int, role: Sequence[Worker], beside: Mapping[str, Sequence[Worker]] = NOBODY
) -> Iterator[Span]:
    """Measure the block; the span is complete at its end.

    Args:
        running: the installation with the servers.
        offers: the number of offers in the backlog.
        role: the measured processes.
        beside: processes of other services that take part, by name.
    """
    span = Span(offers)
    meters: dict[str, Callable[[], float]] = {
        "role": lambda: cpu_of(role),
        "postgres": lambda: running.cpu_s("postgres"),
        "kafka": lambda: running.cpu_s("kafka"),
        **{name: partial(cpu_of, workers) for name, workers in beside.items()},
    }
    with psycopg.connect(running.plan.superuser_dsn, autocommit=True) as connection:
        before = {name: meter() for name, meter in meters.items()}
        began_lsn = _lsn(connection)
        began = time.perf_counter()
        with _sampled(connection, span):
            yield span
            span.seconds = time.perf_counter() - began
        span.cpu_us = {name: (meter() - before[name]) / offers * 1e6 for name, meter in meters.items()}
        span.wal_bytes = (_lsn(connection) - began_lsn) / offers


def until(condition: Callable[[], bool], what: str) -> None:
    """Return once a condition holds.

    Raises:
        RuntimeError: the condition does not hold within ten minutes.
    """
    ends_at = time.monotonic() + _LIMIT_S
    while not condition():
        if time.monotonic() > ends_at:
            raise RuntimeError(f"not within {_LIMIT_S:g} s: {what}")
        time.sleep(0.05)


@contextmanager
def _sampled(connection: psycopg.Connection[tuple[object, ...]], span: Span) -> Iterator[None]:
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(_SAMPLE_EVERY_S):
            for kind, event in connection.execute(_ACTIVE):
                span.waits[str(kind)] += 1
                span.events[f"{kind} {event}".strip()] += 1

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _lsn(connection: psycopg.Connection[tuple[object, ...]]) -> int:
    row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
    assert row is not None
    return int(str(row[0]))
