"""Composition root: builds the parts of moderation and connects them."""

from __future__ import annotations

from functools import partial
from typing import Final

from classifeed.points.v1.point_service_pb2_grpc import add_PointServiceServicer_to_server
from classifeed_common.clock import SystemClock
from classifeed_common.ids import process_holder
from classifeed_common.kafka import DeadLetters, KafkaProducer, NotifyingPositions, OrderedConsumer, ensure_topics
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_common.runner import Role, Servicer, ServiceRunner, Watch
from classifeed_common.runner.command import version_of
from classifeed_common.runner.listening import http_keys
from classifeed_common.runner.parts import SchemaCheck, channel_to, database_of
from classifeed_domain.policy import POLICY
from classifeed_domain.publishing import ReceiverClient
from classifeed_domain.topics import MODERATION_EVENTS, MODERATION_OUTCOMES, MODERATION_REQUESTS, declared
from classifeed_jobs import Registry
from classifeed_jobs.service import ServiceJobs
from classifeed_moderation.app.clean_up import moderation_clean_up
from classifeed_moderation.app.decisions.apply_verdicts import Rules
from classifeed_moderation.app.decisions.record_verdicts import VerdictRecorder
from classifeed_moderation.app.judging.close_reviews import ReviewCloser
from classifeed_moderation.app.judging.correct_pending import PendingCorrector
from classifeed_moderation.app.judging.judge_texts import TextJudge
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.app.judging.store_texts import TextStore
from classifeed_moderation.app.judging.take_offer_texts import TakeOfferTexts
from classifeed_moderation.app.points.maintain_publication import PointPublication
from classifeed_moderation.clients.breaker import Breaker
from classifeed_moderation.clients.configured import verdict_service_of
from classifeed_moderation.clients.pacer import Pacer
from classifeed_moderation.consumers.requests import GROUP, RequestHandler
from classifeed_moderation.domain.documents import schema
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.http.appeals.routes import appeal_routes
from classifeed_moderation.http.callback import callback_routes
from classifeed_moderation.jobs import rejudge, republish
from classifeed_moderation.jobs.rejudge import register_rejudge
from classifeed_moderation.jobs.republish import enqueue_republish, register_republish
from classifeed_moderation.rpc.moderation_service import moderation_servicer
from classifeed_moderation.rpc.moderation_service.appeals import Appeals
from classifeed_moderation.rpc.point_service import PointService
from classifeed_moderation.rules.loading import rules_snapshot
from classifeed_moderation.settings import ModerationSettings

SERVICE = "moderation"
_TOPICS: Final = (MODERATION_REQUESTS, MODERATION_OUTCOMES, MODERATION_EVENTS)
GROWABLE: Final = {declared(MODERATION_REQUESTS): (GROUP,), declared(MODERATION_EVENTS): ()}


async def prepare(settings: ModerationSettings) -> None:
    """Create the topics that this service reads and writes; idempotent."""
    await ensure_topics(settings.kafka_bootstrap, map(declared, _TOPICS))


def build(settings: ModerationSettings) -> ServiceRunner:
    """Return the service without opening anything. Call it inside the event loop."""
    clock = SystemClock()
    database = database_of(settings)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=SERVICE)
    leases = Leases(database, process_holder(SERVICE), settings.lease_ttl_s)
    outbox = Outbox()
    relay = Relay(database, producer, leases, outbox=outbox)
    rules = rules_snapshot(settings.rules_file)

    def current_rules() -> Rules:
        return rules.current

    offers_limit = max(settings.workers * settings.offers_share_percent // 100, 1)
    queue = TaskQueue(settings.queue_size, {Kind.OFFER: offers_limit}, {Kind.OFFER: settings.verdict_batch})

    def on_due() -> None:
        corrector.wake()

    def on_decided() -> None:
        outbox.wake()
        points.wake()

    recorder = VerdictRecorder(
        database,
        outbox,
        clock,
        current_rules=current_rules,
        max_pending_duration_s=settings.max_pending_duration_s,
        gathered_items=max(offers_limit // 2, 1),
        on_decided=on_decided,
        on_due=on_due,
    )
    corrector = PendingCorrector(
        database,
        queue,
        recorder,
        check_interval_s=settings.check_interval_s,
        retry_interval_s=settings.retry_interval_s,
        kept_verdicts_s=settings.kept_verdicts_s,
    )
    verdict_service = verdict_service_of(settings, clock, caller=SERVICE)
    pacer = Pacer(clock, settings.testing_requests_s) if settings.verdict_environment == "testing" else None
    judge = TextJudge(
        queue,
        verdict_service,
        recorder,
        Breaker(clock, failures=settings.breaker_failures, probe_s=settings.probe_s, most=settings.workers),
        workers=settings.workers,
        pacer=pacer,
    )
    closer = ReviewCloser(
        database,
        verdict_service,
        clock,
        check_interval_s=settings.check_interval_s,
        batch=settings.verdict_batch,
        pacer=pacer,
    )
    take_offer_texts = TakeOfferTexts(
        queue,
        outbox,
        clock,
        current_rules=current_rules,
        retry_interval_s=settings.retry_interval_s,
        kept_verdicts_s=settings.kept_verdicts_s,
        decisions_days=settings.decisions_days,
        on_due=corrector.wake,
    )
    texts = TextStore(queue, outbox, clock, retry_interval_s=settings.retry_interval_s)

    tasks = Registry()
    register_rejudge(tasks, outbox, clock, current_rules=current_rules)
    register_republish(tasks)
    jobs = ServiceJobs(
        database,
        tasks,
        clean_up=moderation_clean_up(decisions_days=settings.decisions_days, kept_verdicts_s=settings.kept_verdicts_s),
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
    channel = channel_to("receiver", settings.receiver_address, settings)
    receiver = ReceiverClient(channel, schema())

    points = PointPublication(database, receiver, leases, begin=partial(enqueue_republish, jobs.store))
    handler = RequestHandler(take_offer_texts)
    positions = NotifyingPositions(database, outbox.wake)
    consumer = OrderedConsumer(
        bootstrap=settings.kafka_bootstrap,
        group=GROUP,
        topics=[MODERATION_REQUESTS],
        positions=positions,
        handle=handler.handle,
        on_log_lost=positions.skip_lost,  # offers repeats requests for texts that wait
        dead_letters=DeadLetters(producer),
        refuses_misplaced=True,
        max_records=settings.poll_records,
    )
    appeals = Appeals(database, outbox, clock, max_open_per_author=settings.max_open_appeals_per_author)
    verifying = http_keys(settings, required_by="The callback of the verdict service")
    measured = Watch(corrector.measure, what="counts of texts", period_s=settings.check_interval_s)

    async def start() -> None:
        await database.open()
        await producer.start()

    async def stop() -> None:
        await producer.close()
        await verdict_service.close()
        await channel.close()
        await database.close()
        rules.close()

    async def unsent() -> dict[str, int]:
        return {"moderation_events": await relay.backlog()}

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("judge", judge.run, blocked=judge.blocked),
            Role.together("correct", corrector, closer, backlog=corrector.backlog),
            Role.together("watch", measured, rules),
            Role("consume", consumer.run, consumer.backlog, consumer.blocked),
            Role("relay", relay.run, unsent, relay.blocked),
            Role("publish", points.run, points.backlog, points.blocked),
            *jobs.roles({rejudge.QUEUE: 1, republish.QUEUE: 1}, drain_grace_s=settings.drain_grace_s / 2),
        ],
        servicers=[
            moderation_servicer(
                database,
                outbox,
                clock,
                current_rules=current_rules,
                judge=judge,
                take_offer_texts=take_offer_texts,
                jobs=jobs.store,
                on_due=corrector.wake,
                appeals=appeals,
            ),
            Servicer.of(
                add_PointServiceServicer_to_server,
                PointService(
                    database,
                    texts,
                    clock,
                    current_rules=current_rules,
                    points_shown_after_s=_shown_after_s(settings, settings.points_while_silent),
                    comments_shown_after_s=_shown_after_s(settings, settings.comments_while_silent),
                ),
            ),
            jobs.servicer(),
        ],
        routes=[
            *callback_routes(
                recorder,
                audience=SERVICE,
                keys=verifying,
                policy=POLICY,
                callbacks_s=settings.callbacks_s,
                takes_anonymous=settings.verdict_environment == "testing",
            ),
            *appeal_routes(database, appeals, audience=SERVICE, keys=verifying, policy=POLICY),
        ],
        schema=SchemaCheck(database, "classifeed_moderation"),
        opens={"rules": rules.open},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )


def _shown_after_s(settings: ModerationSettings, while_silent: str) -> float | None:
    return settings.retry_interval_s if while_silent == "show" else None
