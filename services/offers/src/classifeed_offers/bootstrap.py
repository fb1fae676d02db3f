"""Composition root: builds the parts of offers and connects them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from classifeed.offers.v1.offer_service_pb2_grpc import add_OfferServiceServicer_to_server
from classifeed_common.db import Database, Tx
from classifeed_common.ids import process_holder
from classifeed_common.kafka import (
    DeadLetters,
    KafkaProducer,
    LogLost,
    NotifyingPositions,
    OrderedConsumer,
    ensure_topics,
)
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner import Role, RolePart, Servicer, ServiceRunner, Watch
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import SchemaCheck, channel_to, database_of
from classifeed_domain.policy import POLICY
from classifeed_domain.publishing import ReceiverClient, RegistryComparison, put_schema
from classifeed_domain.topics import (
    FEEDS_OFFER_REQUESTS,
    FEEDS_OFFER_RESULTS,
    MODERATION_OUTCOMES,
    MODERATION_REQUESTS,
    PICTURES_REQUESTS,
    PICTURES_RESULTS,
    declared,
)
from classifeed_jobs import JobStore, Registry
from classifeed_jobs.service import ServiceJobs
from classifeed_offers.app.clean_up import offers_clean_up
from classifeed_offers.app.manual.update_offer import UpdateOffer
from classifeed_offers.app.pictures.request_pictures import PictureRequester
from classifeed_offers.app.publishing.publish_offers import PublishOffers
from classifeed_offers.app.publishing.republish_offers import Republisher
from classifeed_offers.app.publishing.watch_publication import PublicationWatch
from classifeed_offers.app.texts.check_decisions import DecisionCheck
from classifeed_offers.app.texts.request_texts import TextRequester
from classifeed_offers.consumers.outcomes import GROUP as OUTCOMES_GROUP
from classifeed_offers.consumers.outcomes import OutcomeHandler
from classifeed_offers.consumers.pictures import GROUP as PICTURES_GROUP
from classifeed_offers.consumers.pictures import PictureHandler
from classifeed_offers.consumers.requests import GROUP, RequestHandler
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.documents import DueOffer, PictureRules, schema
from classifeed_offers.domain.moderation import ApprovedBySetting, ByVerdicts
from classifeed_offers.jobs import republish, request_pictures, return_decisions, sweep
from classifeed_offers.jobs.republish import RepublishJobs, register_republish
from classifeed_offers.jobs.request_pictures import PictureCatchUp
from classifeed_offers.jobs.return_decisions import register_return, return_starter
from classifeed_offers.jobs.sweep import SweepJobs, sweep_registry
from classifeed_offers.rpc.offer_service import OfferService
from classifeed_offers.settings import OffersSettings
from classifeed_offers.store import publishing

SERVICE = "offers"
_WATCH_S: Final = 5.0
_REQUEST_AGAIN_S: Final = 10.0
_CHECK_DECISIONS_S: Final = 30.0
# Results of pictures arrive one by one, and each causes a document for the receiver, the indexer and the searcher.
_GATHER_S: Final = 2.0
_GATHER_TIMES: Final = 30.0
_OUTCOMES_GATHER_S: Final = 0.25
# Each push costs a transaction of the receiver, a read of the indexer and a message for each shard that it touches.
_PUBLISH_GATHER_S: Final = 0.25
_TOPICS: Final = (
    FEEDS_OFFER_REQUESTS,
    FEEDS_OFFER_RESULTS,
    MODERATION_REQUESTS,
    MODERATION_OUTCOMES,
    PICTURES_REQUESTS,
    PICTURES_RESULTS,
)
_SWEPT_AT_ONCE: Final = 300  # offers of a namespace; as many as one statement writes
GROWABLE: Final = {
    declared(FEEDS_OFFER_REQUESTS): (GROUP,),
    declared(MODERATION_OUTCOMES): (OUTCOMES_GROUP,),
    declared(PICTURES_RESULTS): (PICTURES_GROUP,),
}


async def prepare(settings: OffersSettings) -> None:
    """Create the topics that this service reads and writes; idempotent."""
    await ensure_topics(settings.kafka_bootstrap, map(declared, _TOPICS))


def build(settings: OffersSettings) -> ServiceRunner:
    """Return the service without opening anything. Call it inside the event loop."""
    database = database_of(settings)
    channel = channel_to("receiver", settings.receiver_address, settings)
    receiver = ReceiverClient(channel, schema())
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=SERVICE)
    leases = Leases(database, process_holder(SERVICE), settings.lease_ttl_s)
    outbox = Outbox()
    relay = Relay(database, producer, leases, outbox=outbox)
    guard = Guard(
        least_offers=settings.guard_least_offers,
        share_percent=settings.guard_share_percent,
        price_factor=settings.guard_price_factor,
        holds_unavailable=settings.guard_unavailable,
    )
    jobs = ServiceJobs(
        database,
        _tasks(settings, outbox, guard, lambda: jobs.store),
        clean_up=offers_clean_up(history_days=settings.history_days, removed_days=settings.removed_days),
        own_schedules=[request_pictures.SCHEDULE] if settings.pictures else [],
        lease_s=settings.jobs_lease_s,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )

    async def restart_pusher(tx: Tx) -> None:
        await pusher.restart(tx)

    republisher = Republisher(database, RepublishJobs(jobs.store), restart_pusher)
    publish_offers = PublishOffers(database, receiver, republisher, _picture_rules(settings))
    pusher = MarkPusher(
        database,
        name="offers",
        select_due=publishing.SELECT_DUE,
        advance=publishing.ADVANCE,
        row_type=DueOffer,
        push=publish_offers,
        record=publish_offers.record,
        on_idle=publish_offers.check,
        idle_every_s=settings.receiver_check_s,
        leases=leases,
        gather_s=_PUBLISH_GATHER_S,
    )

    async def has_applied_requests() -> bool:
        # After a restore, the table gets its lost offers from the topic.
        return not any((await consumer.backlog()).values())

    comparison = RegistryComparison(
        database,
        receiver,
        publish_offers.publisher,
        leases,
        schema=schema(),
        find_unequal=publishing.find_unequal,
        publish_again=publishing.publish_again,
        may_withdraw=has_applied_requests,
        on_due=pusher.wake,
    )
    publication = PublicationWatch(database)
    watch = Watch(publication.poll, what="republications", period_s=_WATCH_S)
    moderation = ApprovedBySetting() if settings.texts_approved_by_setting else ByVerdicts()
    picture_namespace = settings.picture_namespace if settings.pictures else None
    sweeps = SweepJobs(jobs.store, guard=guard, at_once_offers=_SWEPT_AT_ONCE)
    handler = RequestHandler(
        outbox=outbox,
        moderation=moderation,
        sweeps=sweeps,
        guard=guard,
        picture_namespace=picture_namespace,
    )
    positions = NotifyingPositions(database, outbox.wake, pusher.wake)
    consumer = OrderedConsumer(
        bootstrap=settings.kafka_bootstrap,
        group=GROUP,
        topics=[FEEDS_OFFER_REQUESTS],
        positions=positions,
        handle=handler.handle,
        refuse=handler.refuse,
        on_log_lost=positions.skip_lost,  # the processor repeats requests that got no reply
        dead_letters=DeadLetters(producer),
        refuses_misplaced=True,
        max_records=settings.poll_batches,
    )

    outcome_positions = NotifyingPositions(database, outbox.wake, pusher.wake)
    outcomes = OrderedConsumer(
        bootstrap=settings.kafka_bootstrap,
        group=OUTCOMES_GROUP,
        topics=[MODERATION_OUTCOMES],
        positions=outcome_positions,
        handle=OutcomeHandler(outbox, start_return=return_starter(lambda: jobs.store)).handle,
        on_log_lost=outcome_positions.skip_lost,  # waiting texts are requested again
        dead_letters=DeadLetters(producer),
        refuses_misplaced=True,
        gather_s=_OUTCOMES_GATHER_S,
    )
    decisions = DecisionCheck(database, outbox, period_s=_CHECK_DECISIONS_S)
    requester = TextRequester(database, outbox, wait_s=settings.text_wait_s, period_s=_REQUEST_AGAIN_S)

    pictures, picture_requester = _pictures(
        settings,
        database,
        outbox,
        NotifyingPositions(database, outbox.wake, pusher.wake),
        DeadLetters(producer),
        jobs.store,
    )

    picture_parts: list[RolePart] = [pictures, picture_requester] if settings.pictures else [pictures]

    async def publish(stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(watch.run(stop))
            if await put_schema(receiver, schema(), stop, publication.note_schema_fault):
                group.create_task(comparison.run(stop))
                await pusher.run(stop)

    async def start() -> None:
        await database.open()
        await producer.start()

    async def stop() -> None:
        await producer.close()
        await channel.close()
        await database.close()

    def unpushed() -> dict[str, str]:
        return {**publication.blocked(), **pusher.blocked(), **comparison.blocked()}

    async def unsent() -> dict[str, int]:
        return {"offer_results": await relay.backlog()}

    async def unpublished() -> dict[str, int]:
        return {"offers_unpublished": await pusher.backlog(), "republications": await publication.backlog()}

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("consume", consumer.run, consumer.backlog, consumer.blocked),
            Role.together("consume-verdicts", outcomes, requester, decisions, backlog=requester.backlog),
            Role.together("consume-pictures", *picture_parts, backlog=picture_requester.backlog),
            Role("relay", relay.run, unsent, relay.blocked),
            *jobs.roles(
                {
                    sweep.QUEUE: settings.sweeps_at_once,
                    republish.QUEUE: 1,
                    request_pictures.QUEUE: 1,
                    return_decisions.QUEUE: 1,
                },
                drain_grace_s=settings.drain_grace_s / 2,  # leaves time to hand back unfinished jobs
            ),
            Role("publish", publish, unpublished, unpushed),
        ],
        servicers=[
            Servicer.of(
                add_OfferServiceServicer_to_server,
                OfferService(
                    database,
                    UpdateOffer(database, outbox, moderation, picture_namespace),
                    republisher,
                    pusher.backlog,
                    jobs.store if settings.pictures else None,
                ),
            ),
            jobs.servicer(),
        ],
        schema=SchemaCheck(database, "classifeed_offers"),
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )


def _tasks(settings: OffersSettings, outbox: Outbox, guard: Guard, store: Callable[[], JobStore]) -> Registry:
    """Return the tasks of the jobs; `store` is not called before the jobs are built."""
    tasks = sweep_registry(outbox, guard=guard)
    register_republish(tasks)
    register_return(tasks, outbox)
    PictureCatchUp(outbox, store, settings.picture_namespace, rate=settings.picture_catch_up_rate).register(tasks)
    return tasks


def _picture_rules(settings: OffersSettings) -> PictureRules:
    return PictureRules(
        base_url=settings.picture_base_url,
        size=settings.picture_size,
        links=settings.picture_links,
        is_kept=settings.pictures,
    )


def _pictures(
    settings: OffersSettings,
    database: Database,
    outbox: Outbox,
    positions: NotifyingPositions,
    dead_letters: DeadLetters,
    store: JobStore,
) -> tuple[OrderedConsumer[Tx], PictureRequester]:
    """Return the consumer of picture results, and the requester that repeats unanswered requests."""

    async def request_again(tx: Tx) -> None:
        await request_pictures.enqueue_again(store, tx)

    async def skip_lost(lost: LogLost) -> None:
        # The lost results include more than the awaited ones: a stored picture may have changed since.
        await positions.skip_lost(lost, with_effect=request_again if settings.pictures else None)

    consumer = OrderedConsumer(
        bootstrap=settings.kafka_bootstrap,
        group=PICTURES_GROUP,
        topics=[PICTURES_RESULTS],
        positions=positions,
        handle=PictureHandler(outbox, picture_namespace=settings.picture_namespace).handle,
        on_log_lost=skip_lost,
        dead_letters=dead_letters,
        gather_s=_GATHER_S,
        gather_times=_GATHER_TIMES,
    )
    requester = PictureRequester(
        database,
        outbox,
        wait_s=settings.picture_wait_s,
        period_s=_REQUEST_AGAIN_S,
        picture_namespace=settings.picture_namespace,
    )
    return consumer, requester
