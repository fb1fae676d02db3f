"""Parts of offers: builds pools, channels, producers, consumers and jobs from the settings, and joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import grpc.aio

from classifeed_common.db import Database, Tx
from classifeed_common.ids import process_holder
from classifeed_common.kafka import KafkaProducer, OrderedConsumer
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_common.runner import Role
from classifeed_common.runner.parts import channel_to, database_of
from classifeed_jobs.service import ServiceJobs
from classifeed_offers.app.clean_up import offers_clean_up
from classifeed_offers.app.manual.update_offer import UpdateOffer
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import ApprovedBySetting, ByVerdicts
from classifeed_offers.jobs import republish, request_pictures, return_decisions, sweep
from classifeed_offers.parts.consuming import Consumers
from classifeed_offers.parts.publication import Publication, build_publication
from classifeed_offers.rpc.offer_service import OfferService
from classifeed_offers.settings import OffersSettings

_LEASE_TTL_S: Final = 10.0  # a role of a killed process stays reserved for it
_SWEPT_AT_ONCE: Final = 300  # offers of a namespace; as many as one statement writes


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles and servicers of offers share.

    Attributes:
        loads: Consumer of the requests of loads.
        verdicts: Role that applies verdicts.
        pictures: Role that records results of pictures.
        offer_service: Servicer of OfferService.
    """

    database: Database
    channel: grpc.aio.Channel
    producer: KafkaProducer
    relay: Relay
    jobs: ServiceJobs
    publication: Publication
    loads: OrderedConsumer[Tx]
    verdicts: Role
    pictures: Role
    offer_service: OfferService

    async def open(self) -> None:
        """Open the pool and the producer."""
        await self.database.open()
        await self.producer.start()

    async def close(self) -> None:
        """Close everything that is open."""
        await self.producer.close()
        await self.channel.close()
        await self.database.close()

    async def count_unsent(self) -> dict[str, int]:
        """Return the number of results that Kafka does not have yet."""
        return {"offer_results": await self.relay.backlog()}


def build_parts(settings: OffersSettings) -> Parts:
    """Return the parts; nothing is opened yet. Call it inside the event loop."""
    database = database_of(settings)
    channel = channel_to("receiver", settings.receiver_address, settings)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=settings.service_name())
    leases = Leases(database, process_holder(settings.service_name()), _LEASE_TTL_S)
    outbox = Outbox()
    guard = _guard_of(settings)
    jobs = _build_jobs(settings, database, outbox, guard)

    async def has_applied_requests() -> bool:
        # After a restore, the table gets its lost offers from the topic.
        return not any((await loads.backlog()).values())

    publication = build_publication(settings, database, channel, leases, jobs.store, may_withdraw=has_applied_requests)
    consumers = Consumers(settings, database, producer, outbox, publication.pusher, jobs.store)
    moderation = ApprovedBySetting() if settings.texts_approved_by_setting else ByVerdicts()
    sweeps = sweep.SweepJobs(jobs.store, guard=guard, at_once_offers=_SWEPT_AT_ONCE)
    loads = consumers.build_loads(moderation, guard, sweeps)
    return Parts(
        database=database,
        channel=channel,
        producer=producer,
        relay=Relay(database, producer, leases, outbox=outbox),
        jobs=jobs,
        publication=publication,
        loads=loads,
        verdicts=consumers.build_verdicts(),
        pictures=consumers.build_pictures(),
        offer_service=OfferService(
            database,
            UpdateOffer(database, outbox, moderation, requests_pictures=settings.pictures),
            publication.republisher,
            publication.pusher.backlog,
            jobs.store if settings.pictures else None,
        ),
    )


def _guard_of(settings: OffersSettings) -> Guard:
    return Guard(
        least_offers=settings.guard_least_offers,
        share_percent=settings.guard_share_percent,
        price_factor=settings.guard_price_factor,
        holds_unavailable=settings.guard_unavailable,
    )


def _build_jobs(settings: OffersSettings, database: Database, outbox: Outbox, guard: Guard) -> ServiceJobs:
    tasks = sweep.sweep_registry(outbox, guard=guard)
    republish.register_republish(tasks)
    return_decisions.register_return(tasks, outbox)
    request_pictures.PictureCatchUp(outbox).register(tasks)
    return ServiceJobs(
        database,
        tasks,
        clean_up=offers_clean_up(history_days=settings.history_days, removed_days=settings.removed_days),
        own_schedules=[request_pictures.SCHEDULE] if settings.pictures else [],
        lease_s=settings.jobs_lease_s,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
