"""Publication of offers to the search: pusher, comparison with the registry of the receiver, and their state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import grpc.aio

from classifeed_common.db import Database, Tx
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner import Watch
from classifeed_domain.publishing import ReceiverClient, RegistryComparison, put_schema
from classifeed_jobs import JobStore
from classifeed_offers.app.publishing.publish_offers import PublishOffers
from classifeed_offers.app.publishing.republish_offers import Republisher
from classifeed_offers.app.publishing.watch_publication import PublicationWatch
from classifeed_offers.domain.documents import DueOffer, PictureRules, schema
from classifeed_offers.jobs.republish import RepublishJobs
from classifeed_offers.settings import OffersSettings
from classifeed_offers.store import publishing

_WATCH_S: Final = 5.0
# While nothing is due, offers checks whether the receiver still has what it acknowledged.
_CHECK_RECEIVER_S: Final = 10.0
# Each push costs a transaction of the receiver, a read of the indexer and a message for each shard that it touches.
_GATHER_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Publication:
    """The role `publish`, and the parts of it that servicers and consumers use."""

    receiver: ReceiverClient
    republisher: Republisher
    pusher: MarkPusher
    comparison: RegistryComparison
    state: PublicationWatch

    async def run(self, stop: asyncio.Event) -> None:
        """Publish until `stop`; nothing is pushed before the receiver has the schema."""
        watch = Watch(self.state.poll, what="republications", period_s=_WATCH_S)
        async with asyncio.TaskGroup() as group:
            group.create_task(watch.run(stop))
            if await put_schema(self.receiver, schema(), stop, self.state.note_schema_fault):
                group.create_task(self.comparison.run(stop))
                await self.pusher.run(stop)

    async def backlog(self) -> dict[str, int]:
        """Return the number of unpublished offers and of open republications."""
        return {"offers_unpublished": await self.pusher.backlog(), "republications": await self.state.backlog()}

    def blocked(self) -> dict[str, str]:
        """Return what is not published yet and why."""
        return {**self.state.blocked(), **self.pusher.blocked(), **self.comparison.blocked()}


def build_publication(
    settings: OffersSettings,
    database: Database,
    channel: grpc.aio.Channel,
    leases: Leases,
    jobs: JobStore,
    *,
    may_withdraw: Callable[[], Awaitable[bool]],
) -> Publication:
    """Return the publication.

    Args:
        settings: Settings of offers.
        database: Database of the offers.
        channel: Channel to the receiver.
        leases: Leases in the same database.
        jobs: Store of the job that resets marks.
        may_withdraw: Whether lost offers cannot be created again from requests that are still unread.
    """
    receiver = ReceiverClient(channel, schema())

    async def restart_pusher(tx: Tx) -> None:
        await pusher.restart(tx)

    republisher = Republisher(database, RepublishJobs(jobs), restart_pusher)
    pictures = PictureRules(base_url=settings.picture_base_url, is_kept=settings.pictures)
    publish_offers = PublishOffers(database, receiver, republisher, pictures)
    pusher = MarkPusher(
        database,
        name="offers",
        select_due=publishing.SELECT_DUE,
        advance=publishing.ADVANCE,
        row_type=DueOffer,
        push=publish_offers,
        record=publish_offers.record,
        on_idle=publish_offers.check,
        idle_every_s=_CHECK_RECEIVER_S,
        leases=leases,
        gather_s=_GATHER_S,
    )
    comparison = RegistryComparison(
        database,
        receiver,
        publish_offers.publisher,
        leases,
        schema=schema(),
        find_unequal=publishing.find_unequal,
        publish_again=publishing.publish_again,
        may_withdraw=may_withdraw,
        on_due=pusher.wake,
    )
    return Publication(receiver, republisher, pusher, comparison, PublicationWatch(database))
