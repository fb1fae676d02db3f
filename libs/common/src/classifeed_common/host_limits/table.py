"""HostTable: the table `fetch_hosts` of a service's schema, with one row per host."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_common.fetch.permits import Outcome
from classifeed_common.host_limits.rates import HostPolicy, RateChange

_SQL: Final = load_queries("classifeed_common.host_limits")
_MOST_REFUSING: Final = 1000
_IDLE: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Sending:
    """A time at which a host may be sent a request, in the database's notation.

    Attributes:
        at: the time.
        before: the previous such time.
    """

    at: str
    before: str


@dataclass(slots=True)
class HostReport:
    """A report on a host.

    Attributes:
        released: permits that are returned.
        added: permits that replace some of them.
        unsent: last time at which no request was sent, so that the host can have one instead.
        change: change of its rate.
        paused_until_s: end of the pause that the host demands, by the loop's clock; 0: none.
        counts: requests by outcome.
    """

    released: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    unsent: Sending | None = None
    change: RateChange = field(default_factory=RateChange)
    paused_until_s: float = 0.0
    counts: dict[Outcome, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """The state of a host, and the drawn permit.

    Attributes:
        permit: drawn permit, or None.
        sending: time at which its request may be sent; None: there is no permit.
        now: time of the reply, by the database's clock.
        sent_s: time before the statement, by the loop's clock.
        received_s: time after the statement, by the loop's clock.
        rate: requests per second.
        pause_s: remaining pause of the host in seconds; 0: none.
        due_s: seconds from `now` until the rate allows the next permit; 0: it allowed one now.
    """

    permit: int | None
    sending: Sending | None
    now: datetime
    sent_s: float
    received_s: float
    rate: float
    pause_s: float
    due_s: float

    def at(self, loop_s: float) -> datetime:
        """Return the time by the database's clock, or up to a round trip behind it, so that no pause is cut short."""
        return self.now + timedelta(seconds=loop_s - self.received_s)


class HostTable:
    """Reports on hosts and draws permits for them.

    Args:
        database: database with the table (`ddl("fetch_hosts", …)`).
        policy: limits of every host; must be the same in all processes.
    """

    def __init__(self, database: Database, policy: HostPolicy) -> None:
        self._database = database
        self._values = {
            "first": policy.first_rate,
            "lowest": policy.lowest_rate,
            "highest": policy.highest_rate,
            "window_s": policy.window_s,
            "at_a_time": policy.at_a_time,
            "hold_us": int(policy.hold_s * 1_000_000),
        }

    async def draw(self, host: str, report: HostReport, *, wants: bool) -> Reply:
        """Report on a host, and draw a permit if wanted. The report comes first, so a returned permit can be drawn.

        Raises:
            psycopg.Error: the effect is unknown; a retry is safe.
        """
        loop = asyncio.get_running_loop()
        async with self._database.connection() as connection:
            while True:
                sent_s = loop.time()
                values = self.values_of(host, report, sent_s, wants=wants)
                rows = await fetch_named(connection, _SQL["draw"], values)
                received_s = loop.time()
                if rows:
                    break
                await connection.execute(_SQL["add"], values)
        [row] = rows
        sending = None if row.permit is None else Sending(row.sent_at, row.sent_before)
        return Reply(row.permit, sending, row.now, sent_s, received_s, row.rate, row.pause_s, row.due_s)

    def values_of(self, host: str, report: HostReport, now_s: float, *, wants: bool) -> dict[str, Any]:
        """Return the parameters of the statement `draw`."""
        return {
            **self._values,
            "host": host,
            "wants": wants,
            "released": report.released,
            "added": report.added,
            "unsent_at": report.unsent.at if report.unsent else None,
            "unsent_before": report.unsent.before if report.unsent else None,
            "step": report.change.step,
            "ceiling": report.change.ceiling,
            "pause_s": report.paused_until_s - now_s if report.paused_until_s > now_s else None,
            **{outcome.value: report.counts.get(outcome, 0) for outcome in Outcome},
        }

    async def list_refusing(self, for_s: float, wanted_s: float) -> list[str]:
        """Return at most 1,000 hosts that have refused for `for_s`, and were requested since and within `wanted_s`."""
        parameters = {"for_s": for_s, "wanted_s": wanted_s, "limit": _MOST_REFUSING}
        async with self._database.connection() as connection:
            return [row.host for row in await fetch_named(connection, _SQL["list_refusing"], parameters)]


async def forget_hosts(tx: Tx, at: datetime, limit: int, *, idle: timedelta = _IDLE) -> int:
    """Remove at most `limit` hosts without requests for `idle`; return their number."""
    return (await tx.execute(_SQL["forget"], {"before": at - idle, "limit": limit})).rowcount
