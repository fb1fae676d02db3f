"""Consumers of the topics of pictures, and the topics that they read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

from classifeed_common.db import Tx
from classifeed_common.kafka import LogLost, NotifyingPositions, OrderedConsumer, Record
from classifeed_common.runner import Role
from classifeed_domain.topics import (
    PICTURES_COPIES,
    PICTURES_DOWNLOADS,
    PICTURES_EVENTS,
    PICTURES_LOADS,
    PICTURES_REQUESTS,
    declared,
)
from classifeed_jobs import JobStore
from classifeed_pictures.consumers import copies, downloads, events, resharder
from classifeed_pictures.jobs.close_event_gaps import open_gap
from classifeed_pictures.parts.parts import Parts

GROWABLE: Final = {
    declared(PICTURES_REQUESTS): (resharder.GROUP,),
    declared(PICTURES_LOADS): (resharder.GROUP,),
    declared(PICTURES_EVENTS): (events.GROUP,),
    declared(PICTURES_DOWNLOADS): (downloads.GROUP,),
    declared(PICTURES_COPIES): (copies.GROUP,),
}
"""Topics that may get more partitions, with the groups that read them."""
# Each event has one picture, and a transaction with one event costs nearly as much as one with fifty.
_GATHER_S: Final = 0.25
_Handle: TypeAlias = Callable[[Tx, Sequence[Record]], Awaitable[None]]


def consumer_roles(parts: Parts, jobs: JobStore) -> Iterator[Role]:
    """Yield the roles that consume."""
    sharder = resharder.Resharder(parts.producer, parts.letters, current_rules=parts.canonical_rules)
    sharding = _consumer_of(parts, jobs, resharder.GROUP, resharder.TOPICS, sharder.handle)
    yield Role("consume-requests", sharding.run, sharding.backlog, sharding.blocked)
    processor = events.EventHandler(parts.outbox, parts.rules)
    processing = _consumer_of(parts, jobs, events.GROUP, [PICTURES_EVENTS], processor.handle)
    yield Role("consume-events", processing.run, processing.backlog, processing.blocked)
    copier = copies.CopyHandler(parts.outbox, jobs)
    copying = _consumer_of(parts, jobs, copies.GROUP, [PICTURES_COPIES], copier.handle)
    yield Role("consume-copies", copying.run, copying.backlog, copying.blocked)
    downloader = downloads.DownloadHandler(jobs, parts.settings.downloads_per_host)
    downloading = _consumer_of(parts, jobs, downloads.GROUP, [PICTURES_DOWNLOADS], downloader.handle)
    yield Role("consume-downloads", downloading.run, downloading.backlog, downloading.blocked)


def _consumer_of(
    parts: Parts, jobs: JobStore, group: str, topics: Sequence[str], handle: _Handle
) -> OrderedConsumer[Tx]:
    """Return a consumer that stores its positions and effects in the service's tables."""
    positions = NotifyingPositions(parts.database, parts.outbox.wake)

    async def skip_lost(lost: LogLost) -> None:
        cause = f"records that {group} had not read"
        await positions.skip_lost(lost, with_effect=partial(open_gap, cause=cause, store=jobs))

    return OrderedConsumer(
        bootstrap=parts.settings.kafka_bootstrap,
        group=group,
        topics=topics,
        positions=positions,
        handle=handle,
        on_log_lost=skip_lost,  # clients request again, and orders without a result are repeated
        dead_letters=parts.letters,
        max_records=parts.tuning.poll_records,
        gather_s=_GATHER_S,
        session_timeout_s=parts.tuning.session_s,
    )
