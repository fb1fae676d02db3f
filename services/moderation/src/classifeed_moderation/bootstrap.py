"""Composition root: declares the roles, servicers and routes of moderation."""

from __future__ import annotations

from typing import Final

from classifeed_common.kafka import ensure_topics
from classifeed_common.runner import Role, ServiceRunner, version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY
from classifeed_domain.topics import MODERATION_EVENTS, MODERATION_OUTCOMES, MODERATION_REQUESTS, declared
from classifeed_moderation.consumers.requests import GROUP
from classifeed_moderation.jobs import rejudge, republish
from classifeed_moderation.parts import build_parts
from classifeed_moderation.parts.serving import routes_of, servicers_of
from classifeed_moderation.settings import ModerationSettings

SERVICE = "moderation"
GROWABLE: Final = {declared(MODERATION_REQUESTS): (GROUP,), declared(MODERATION_EVENTS): ()}


async def prepare(settings: ModerationSettings) -> None:
    """Create the topics that this service reads and writes; idempotent."""
    topics = (MODERATION_REQUESTS, MODERATION_OUTCOMES, MODERATION_EVENTS)
    await ensure_topics(settings.kafka_bootstrap, map(declared, topics))


def build(settings: ModerationSettings) -> ServiceRunner:
    """Return the service without opening anything. Call it inside the event loop.

    Raises:
        StartError: there are no keys for tokens.
    """
    parts = build_parts(settings)
    judging, points = parts.judging, parts.points
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("judge", judging.judge.run, blocked=judging.judge.blocked),
            Role.together("correct", judging.corrector, judging.closer, backlog=judging.corrector.backlog),
            Role.together("watch", judging.measured, parts.rules),
            Role("consume", parts.consumer.run, parts.consumer.backlog, parts.consumer.blocked),
            Role("relay", parts.relay.run, parts.unsent, parts.relay.blocked),
            Role("publish", points.run, points.backlog, points.blocked),
            *parts.jobs.roles({rejudge.QUEUE: 1, republish.QUEUE: 1}, drain_grace_s=settings.drain_grace_s / 2),
        ],
        servicers=servicers_of(parts, settings),
        routes=routes_of(parts, settings),
        schema=SchemaCheck(parts.database, "classifeed_moderation"),
        opens={"rules": parts.rules.open},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
