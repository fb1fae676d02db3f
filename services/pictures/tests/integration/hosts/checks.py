"""The requests that hosts may get, compared with those that they got and with the table of hosts over time."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from classifeed_common.db import Database
from classifeed_common.host_limits import HostPolicy

from .web import Seen

_NOTE_PAUSES = (
    """
    CREATE TABLE pauses (
        host text NOT NULL, until timestamptz NOT NULL, known_at timestamptz NOT NULL DEFAULT clock_timestamp())
    """,
    """
    CREATE FUNCTION note_pause() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF isfinite(NEW.paused_until) AND (TG_OP = 'INSERT' OR NEW.paused_until IS DISTINCT FROM OLD.paused_until) THEN
            INSERT INTO pauses (host, until) VALUES (NEW.host, NEW.paused_until);
        END IF;
        RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER note_pause AFTER INSERT OR UPDATE ON fetch_hosts FOR EACH ROW EXECUTE FUNCTION note_pause()",
)
_READ_PAUSES = "SELECT host, extract(epoch FROM known_at)::float8, extract(epoch FROM until)::float8 FROM pauses"
# Tolerance for clocks that are read one after the other.
_CLOCKS_S = 0.005
# Time between the check of a permit and the arrival of the request at its host; a process may lose its core in between.
# The checks of any second never exceed the rate (`HostPolicy.window_s`), but requests arrive with different delays. So
# a host may see more requests in a second, but not in a window that is shorter by the largest delay.
_ON_THE_WAY_S = 0.1


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause that a host requested.

    Attributes:
        known_s: time from which all processes knew it; earlier permits may be used as long as they are valid.
        until_s: end of the pause.
    """

    known_s: float
    until_s: float


async def note_pauses(database: Database) -> None:
    """Have the database record each pause, with the time from which no permit could be drawn."""
    async with database.transaction() as tx:
        for statement in _NOTE_PAUSES:
            await tx.execute(statement)


async def read_pauses(database: Database) -> Mapping[str, Sequence[Pause]]:
    """Return the pauses of each host."""
    found: defaultdict[str, list[Pause]] = defaultdict(list)
    async with database.connection() as connection:
        for host, known_s, until_s in await (await connection.execute(_READ_PAUSES)).fetchall():
            found[host].append(Pause(known_s, until_s))
    return found


def most_under_way(seen: Iterable[Seen]) -> Mapping[str, int]:
    """Return the maximum number of concurrent requests, by host."""
    found: defaultdict[str, int] = defaultdict(int)
    for each in seen:
        found[each.host] = max(found[each.host], each.under_way)
    return found


def busiest_seconds(seen: Iterable[Seen]) -> Mapping[str, int]:
    """Return the number of requests in the busiest second of each host, shortened by a tenth."""
    times, second_s = times_of(seen), 1 - _ON_THE_WAY_S
    return {
        host: max(bisect_left(at_s, each + second_s) - n for n, each in enumerate(at_s)) for host, at_s in times.items()
    }


def requests_in_pauses(seen: Iterable[Seen], pauses: Mapping[str, Sequence[Pause]]) -> list[str]:
    """Describe the requests that arrived during a pause of their host."""
    lasts_s = HostPolicy().send_within_s + _CLOCKS_S
    times = times_of(seen)
    return [
        f"{host}: {at_s - pause.known_s:.3f} s after a pause was known, {pause.until_s - at_s:.3f} s before its end"
        for host, of_host in pauses.items()
        for pause in of_host
        for at_s in times.get(host, ())
        if pause.known_s + lasts_s < at_s < pause.until_s - _CLOCKS_S
    ]


def unheard(seen: Iterable[Seen], pauses: Mapping[str, Sequence[Pause]]) -> list[str]:
    """Describe the responses that requested a pause without effect."""
    return [
        f"{each.host}: asked to be left alone for {each.until_s - each.at_s:.3f} s"
        for each in seen
        if each.until_s
        and not any(
            pause.known_s >= each.at_s - _CLOCKS_S and pause.until_s >= each.until_s - _CLOCKS_S
            for pause in pauses.get(each.host, ())
        )
    ]


def times_of(seen: Iterable[Seen]) -> Mapping[str, list[float]]:
    """Return the times of the requests of each host, ascending."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for each in seen:
        found[each.host].append(each.at_s)
    return {host: sorted(at_s) for host, at_s in found.items()}
