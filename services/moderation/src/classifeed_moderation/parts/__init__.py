"""Parts of moderation: its database, rules, clients, loops and jobs, built from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import grpc.aio

from classifeed_common.auth import KeyStore
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database, Tx
from classifeed_common.ids import process_holder
from classifeed_common.kafka import DeadLetters, KafkaProducer, NotifyingPositions, OrderedConsumer
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_common.runner.listening import required_keys
from classifeed_common.runner.parts import channel_to, database_of
from classifeed_common.snapshot import Snapshot
from classifeed_domain.publishing import ReceiverClient
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_jobs import Registry
from classifeed_jobs.service import ServiceJobs
from classifeed_moderation.app.appeals.decide_appeal import DecideAppeal
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.app.judging.take_offer_texts import TakeOfferTexts
from classifeed_moderation.app.points.maintain_publication import PointPublication
from classifeed_moderation.clients.configured import verdict_service_of
from classifeed_moderation.clients.verdict_service import VerdictService
from classifeed_moderation.consumers.requests import GROUP, handle_requests
from classifeed_moderation.domain.documents import schema
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.jobs.rejudge import register_rejudge
from classifeed_moderation.jobs.republish import enqueue_republish, register_republish
from classifeed_moderation.parts.judging import Judging, build_judging
from classifeed_moderation.rules.loading import rules_snapshot
from classifeed_moderation.settings import ModerationSettings
from classifeed_moderation.store.cleaning import moderation_clean_up

_LEASE_S: Final = 10.0  # of a role that one process runs
_POLL_RECORDS: Final = 20  # messages of up to 100 texts each, in one transaction


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles, servicers and routes of moderation share.

    Attributes:
        keys: keys that verify tokens of HTTP callers.
        relay: sends messages of the outbox.
        rules: rules file, read again when it changes.
        deciding: rules, clock and outbox of the decisions.
        judging: parts that a text passes on its way to a decision.
        consumer: consumes texts of offers.
        channel: channel to the receiver.
        points: publishes points.
    """

    database: Database
    keys: KeyStore
    producer: KafkaProducer
    relay: Relay
    rules: Snapshot[RuleSet]
    deciding: Deciding
    verdict_service: VerdictService
    judging: Judging
    decide_appeal: DecideAppeal
    jobs: ServiceJobs
    consumer: OrderedConsumer[Tx]
    channel: grpc.aio.Channel
    points: PointPublication

    async def open(self) -> None:
        """Open the database and the producer."""
        await self.database.open()
        await self.producer.start()

    async def close(self) -> None:
        """Close the connections and the rules."""
        await self.producer.close()
        await self.verdict_service.close()
        await self.channel.close()
        await self.database.close()
        self.rules.close()

    async def unsent(self) -> dict[str, int]:
        """Return the number of messages that the outbox holds."""
        return {"moderation_events": await self.relay.backlog()}


def build_parts(settings: ModerationSettings) -> Parts:
    """Return the parts; nothing is opened yet.

    Raises:
        StartError: there are no keys for tokens.
    """
    keys = required_keys(settings, by="The callback of the verdict service")
    clock, outbox, database = SystemClock(), Outbox(), database_of(settings)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=settings.service_name())
    leases = Leases(database, process_holder(settings.service_name()), _LEASE_S)
    rules = rules_snapshot(settings.rules_file)
    verdict_service = verdict_service_of(settings, clock, keys)
    channel = channel_to("receiver", settings.receiver_address, settings)

    deciding = Deciding(outbox, clock, lambda: rules.current)

    def on_decided() -> None:
        outbox.wake()
        points.wake()

    jobs = _jobs_of(settings, database, deciding)
    begin = partial(enqueue_republish, jobs.store)
    points = PointPublication(database, ReceiverClient(channel, schema()), leases, begin=begin)
    judging = build_judging(settings, database, deciding, verdict_service, on_decided=on_decided)
    return Parts(
        database=database,
        keys=keys,
        producer=producer,
        relay=Relay(database, producer, leases, outbox=outbox),
        rules=rules,
        deciding=deciding,
        verdict_service=verdict_service,
        judging=judging,
        decide_appeal=DecideAppeal(database, deciding),
        jobs=jobs,
        consumer=_consumer_of(settings, database, outbox, producer, judging.take_offer_texts),
        channel=channel,
        points=points,
    )


def _jobs_of(settings: ModerationSettings, database: Database, deciding: Deciding) -> ServiceJobs:
    tasks = Registry()
    register_rejudge(tasks, deciding)
    register_republish(tasks)
    return ServiceJobs(
        database,
        tasks,
        clean_up=moderation_clean_up(decisions_days=settings.decisions_days, kept_verdicts_s=settings.kept_verdicts_s),
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )


def _consumer_of(
    settings: ModerationSettings,
    database: Database,
    outbox: Outbox,
    producer: KafkaProducer,
    take_offer_texts: TakeOfferTexts,
) -> OrderedConsumer[Tx]:
    positions = NotifyingPositions(database, outbox.wake)
    return OrderedConsumer(
        bootstrap=settings.kafka_bootstrap,
        group=GROUP,
        topics=[MODERATION_REQUESTS],
        positions=positions,
        handle=partial(handle_requests, take_offer_texts),
        on_log_lost=positions.skip_lost,  # offers repeats requests for texts that wait
        dead_letters=DeadLetters(producer),
        refuses_misplaced=True,
        max_records=_POLL_RECORDS,
    )
