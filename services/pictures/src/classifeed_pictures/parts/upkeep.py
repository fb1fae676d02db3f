"""Roles that send the outbox, watch rules and decoders, and repair what restores and lost events leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.loops import Loop
from classifeed_common.outbox import Relay
from classifeed_common.runner import Role, Watch
from classifeed_jobs import JobStore
from classifeed_pictures.app.backups.measure_backups import MeasureBackups
from classifeed_pictures.app.restores.check_states import CheckStates, RepeatOrders, refetch_unstored
from classifeed_pictures.app.restores.find_restored import FindRestored
from classifeed_pictures.app.states.measure_tables import MeasureTables
from classifeed_pictures.consumers import events
from classifeed_pictures.domain.marked_tables import JOBS, STORED
from classifeed_pictures.jobs.close_event_gaps import enqueue_closing, open_gap
from classifeed_pictures.parts.parts import Parts

_WATCH_S: Final = 5.0
_GAPS_S: Final = 60.0


def upkeep_roles(parts: Parts, jobs: JobStore) -> Iterator[Role]:
    """Yield the roles of the upkeep."""
    leases = Leases(parts.database, process_holder(parts.settings.service_name()), parts.tuning.relay_lease_s)
    relay = Relay(parts.database, parts.producer, leases, outbox=parts.outbox)

    async def unsent() -> dict[str, int]:
        return {"messages": await relay.backlog()}

    yield Role("relay", relay.run, unsent, relay.blocked)
    # Each process makes keys, or receives URLs.
    yield Role("watch-rules", parts.canonical.run, blocked=parts.canonical.blocked, is_everywhere=True)
    # Each process that decodes has its own decoders.
    children = parts.decoder.children
    yield Role(is_everywhere=True, name="watch-decoders", run=children.run, blocked=children.blocked)
    yield _watch_role(parts, jobs)


def _watch_role(parts: Parts, jobs: JobStore) -> Role:
    """Return the role that closes gaps in the events, and watches the tables and the age of backups.

    It also repairs tables that were restored without the others.
    """
    noticer = FindRestored(parts.database, events.GROUP, jobs, partial(open_gap, store=jobs))
    return Role.together(
        "watch",
        Loop(
            partial(enqueue_closing, parts.database, jobs),
            period_s=_GAPS_S,
            name="gaps",
            doing="closing gaps in the events",
            effect="Pictures whose events were lost are not requested again",
        ),
        Watch(noticer, what="marks of tables", period_s=_WATCH_S),
        Loop(
            CheckStates(parts.database, parts.outbox, STORED, refetch_unstored),
            period_s=_WATCH_S,
            name="held",
            doing="comparing states with stored pictures",
            effect="Pictures that were lost by a restore are not downloaded again",
        ),
        Loop(
            CheckStates(parts.database, parts.outbox, JOBS, RepeatOrders(jobs)),
            period_s=_WATCH_S,
            name="orders",
            doing="comparing orders with jobs",
            effect="Orders whose jobs were lost by a restore are not repeated",
        ),
        Watch(MeasureTables(parts.database, parts.hosts), what="sizes of tables", period_s=_WATCH_S),
        Watch(MeasureBackups(parts.backups), what="backups", period_s=_WATCH_S),
    )
